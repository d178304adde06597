// Colours of code: comments, texts, numbers and the words a language keeps for itself. One pass with one
// expression for each family of languages and no parser: what it gets wrong is a colour and nothing else. Names
// have a length and begin where a word does, so that no text takes an expression long (see check_assets.mjs).
import { h } from "./dom.js";

const LENGTH_MAX = 20000;
const NUMBER = String.raw`(?<number>\b(?:0[xXbBoO][\da-fA-F_]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)[a-zA-Z]{0,5}\b)`;
const WORD = String.raw`(?<word>[A-Za-z_$][\w$]*)`;
const QUOTED = String.raw`"(?:\\[^]|[^"\\\n])*"?`;
const SINGLE = String.raw`'(?:\\[^]|[^'\\\n])*'?`;
const pattern = (comment, text, rest = WORD) =>
  new RegExp(`(?<line>(?<![^\\n]) *\\d+\\t)|(?<comment>${comment})|(?<text>${text})|${NUMBER}|${rest}`, "g");
const SLASHES = String.raw`\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)`;
const HASH = String.raw`(?<![^\s;(])#[^\n]*`;

const FAMILIES = {
  c: pattern(SLASHES, `${QUOTED}|${SINGLE}`),
  rust: pattern(SLASHES, String.raw`b?r#+"[^]*?(?:"#+|$)|b?"(?:\\[^]|[^"\\])*"?|b?'(?:\\[^'\n]+|[^'\\\n])'`),
  script: pattern(SLASHES, `${QUOTED}|${SINGLE}|${"`(?:\\\\[^]|[^`\\\\])*`?"}`),
  python: pattern(String.raw`#[^\n]*`, `"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|${QUOTED}|${SINGLE}`),
  shell: pattern(
    HASH,
    String.raw`"(?:\\[^]|[^"\\])*"?|'[^']*'?`,
    String.raw`(?<name>\$\{?\w+\}?)|(?<word>[A-Za-z_][\w-]*)`,
  ),
  lines: pattern(
    HASH,
    `${QUOTED}|${SINGLE}`,
    String.raw`(?<name>^[ \t]*(?:- +)*[\w."/-]{1,100}(?=\s{0,9}[:=]))|(?<word>\b(?:true|false|null|yes|no|on|off)\b)`,
  ),
  json: pattern("(?!)", QUOTED, String.raw`(?<word>\b(?:true|false|null)\b)`),
  sql: pattern(String.raw`--[^\n]*|\/\*[^]*?(?:\*\/|$)`, `${SINGLE}|${QUOTED}`),
  css: pattern(
    String.raw`\/\*[^]*?(?:\*\/|$)`,
    `${QUOTED}|${SINGLE}`,
    String.raw`(?<name>(?<![\w-])[\w-]{1,100}(?=\s{0,9}:))|(?<word>@[\w-]+)`,
  ),
  markup: pattern(
    String.raw`\x3c!--[^]*?(?:-->|$)`,
    `${QUOTED}|${SINGLE}`,
    String.raw`(?<word><\/?[\w:-]+|\/?>)|(?<name>(?<![\w:-])[\w:-]{1,100}(?==))`,
  ),
};
FAMILIES.lines = new RegExp(FAMILIES.lines.source, "gm");

const set = (text) => new Set(text.split(" "));
const WORDS = {
  c: set(
    "abstract alignas auto base bool boolean break byte case catch chan char checked class const continue data def default defer delegate delete do double else enum explicit export extends extern fallthrough false final finally float for foreach fn friend fun func function go goto guard if implements import in include inline instanceof int interface internal is lazy let long map match mutable namespace native new nil null nullptr object open operator out override package private protected protocol public range readonly record ref return sealed select short signed sizeof static string struct super suspend switch synchronized template this throw throws trait transient true try type typedef typename union unsigned until use using val var virtual void volatile when where while with yield",
  ),
  rust: set(
    "as async await break const continue crate dyn else enum extern false fn for if impl in let loop macro_rules match mod move mut pub ref return self Self static struct super trait true type union unsafe use where while",
  ),
  script: set(
    "abstract any as async await boolean break case catch class const constructor continue debugger declare default delete do else enum export extends false finally for from function get if implements import in instanceof interface keyof let namespace never new null number of private protected public readonly return satisfies set static string super switch this throw true try type typeof undefined unknown var void while with yield",
  ),
  python: set(
    "and as assert async await begin break case class continue def del do elif else elsif end ensure except False finally for from global if import in is lambda match module next nil None nonlocal not or pass raise require rescue return self then True try unless until when while with yield",
  ),
  shell: set(
    "case do done elif else esac exit export fi for function if in local return set shift source then until while cd echo grep sed awk cat cargo git npm make python python3 node",
  ),
  sql: set(
    "add all alter and as asc begin between by case check column commit constraint create cross database default delete desc distinct drop else end exists foreign from full group having if in index inner insert into is join key left like limit not null offset on or order outer primary references returning right rollback select set table then union unique update using values view when where with",
  ),
};

const LANGUAGES = {
  c: "c h cc cpp cxx hpp cs csharp java kt kotlin swift go php scala dart proto zig",
  rust: "rs rust",
  script: "js mjs cjs jsx ts mts cts tsx javascript typescript vue svelte",
  python: "py pyi python rb ruby",
  shell: "sh bash zsh fish shell console dockerfile makefile mk",
  lines: "yml yaml toml ini cfg conf properties env",
  json: "json jsonc json5 jsonl",
  sql: "sql psql",
  css: "css scss less",
  markup: "html htm xml svg xhtml",
};
const FAMILY_OF = new Map(
  Object.entries(LANGUAGES).flatMap(([family, names]) => names.split(" ").map((name) => [name, family])),
);

/// The language of a file, by its name.
export function languageOf(path) {
  const name = String(path || "")
    .split("/")
    .pop()
    .toLowerCase();
  return name.includes(".") ? name.slice(name.lastIndexOf(".") + 1) : name;
}

/// A text in pieces: [kind, piece], where a kind may be empty.
export function codePieces(text, language) {
  const family = FAMILY_OF.get(String(language || "").toLowerCase());
  if (!family) return [["", text]];
  const pieces = [];
  const push = (kind, piece) => {
    const last = pieces[pieces.length - 1];
    if (last && last[0] === kind) last[1] += piece;
    else if (piece) pieces.push([kind, piece]);
  };
  const coloured = text.slice(0, LENGTH_MAX);
  let at = 0;
  for (const match of coloured.matchAll(FAMILIES[family])) {
    push("", coloured.slice(at, match.index));
    push(kindOf(match, coloured, family), match[0]);
    at = match.index + match[0].length;
  }
  push("", text.slice(at));
  return pieces;
}

function kindOf({ 0: piece, index, groups }, text, family) {
  if (groups.line !== undefined) return "line";
  if (groups.comment !== undefined) return "comment";
  if (groups.text !== undefined)
    return family === "json" && /^\s*:/.test(text.slice(index + piece.length, index + piece.length + 4))
      ? "name"
      : "text";
  if (groups.number !== undefined) return "number";
  if (groups.name !== undefined) return "name";
  const words = WORDS[family];
  if (!words || words.has(family === "sql" ? piece.toLowerCase() : piece)) return "word";
  if (text[index + piece.length] === "(") return "name";
  return family !== "shell" && family !== "sql" && /^[A-Z][a-z]/.test(piece) ? "type" : "";
}

/// The part of some pieces between two places.
export function cutPieces(pieces, from, to) {
  const part = [];
  let at = 0;
  for (const [kind, piece] of pieces) {
    const inside = piece.slice(Math.max(0, from - at), Math.max(0, to - at));
    if (inside) part.push([kind, inside]);
    at += piece.length;
  }
  return part;
}

export function showPieces(pieces) {
  return pieces.map(([kind, piece]) => (kind ? h("span", { class: `code-${kind}` }, piece) : piece));
}

/// Code as elements.
export function code(text, language) {
  return h("code", showPieces(codePieces(text, language)));
}
