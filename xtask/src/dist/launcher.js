#!/usr/bin/env node
// Starts the program of the package for this platform. Scripts may call that program itself.
"use strict";
const { spawn } = require("node:child_process");

const name = `PACKAGE_NAME-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/windlass`);
} catch {
  console.error(`windlass: the package ${name} is missing; there may be no build for this machine,`
    + " or optional dependencies were left out: npm install --include=optional");
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends Ctrl-C to both; the program decides what it means.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`windlass: ${program} does not start: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) {
    process.exit(code);
  }
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
