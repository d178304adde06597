"""The public interface of windlass-driver, one line an item, from rustdoc's JSON.

usage: public_api.py <folder of JSON files> <recorded listing> [--write]

Fails if a public signature has a type of ours that no public path of windlass-driver leads to, or if
a recorded line is gone: that breaks those who embed the crate. A line that is new breaks nobody; it is
counted, and recorded with the next --write.
"""

import json
import sys
from pathlib import Path

ROOT = "windlass_driver"


class Crate:
    def __init__(self, path):
        data = json.loads(path.read_text())
        self.index = {str(key): item for key, item in data["index"].items()}
        self.root = str(data["root"])
        self.name = self.index[self.root]["name"]
        self.paths = {str(key): summary for key, summary in data["paths"].items()}
        self.external = {str(key): it["name"] for key, it in data["external_crates"].items()}
        # Items of this crate by the path of their definition.
        self.defined = {
            tuple(summary["path"]): key
            for key, summary in self.paths.items()
            if summary["crate_id"] == 0
        }

    def canonical(self, key):
        summary = self.paths.get(str(key))
        return tuple(summary["path"]) if summary else None


def inner(item):
    """The kind of an item and what it holds."""
    return next(iter(item["inner"].items()))


class Walker:
    def __init__(self, crates):
        self.crates = crates
        self.named = {}  # canonical path -> public path
        self.mentioned = {}  # canonical path -> where it was seen
        self.lines = set()
        self.queue = []

    def run(self):
        root = self.crates[ROOT]
        self.module(root, root.root, ROOT)
        while self.queue:
            crate, key, path = self.queue.pop(0)
            self.item(crate, key, path)

    def resolve(self, crate, key):
        """The crate that defines an item, and its key there."""
        key = str(key)
        if key in crate.index:
            return crate, key
        path = crate.canonical(key)
        home = self.crates.get(path[0]) if path else None
        if home is None:
            return None
        if path == (home.name,):
            return home, home.root
        at = home.defined.get(path)
        return (home, at) if at else None

    def module(self, crate, key, path):
        for child in inner(crate.index[key])[1]["items"]:
            item = crate.index.get(str(child))
            if item is None or item["visibility"] not in ("public", "default"):
                continue
            kind, data = inner(item)
            if kind == "use":
                self.use(crate, data, path)
            elif item["name"]:
                self.enqueue(crate, str(child), f"{path}::{item['name']}")

    def use(self, crate, data, path):
        target = self.resolve(crate, data["id"]) if data["id"] is not None else None
        if target is None:
            self.lines.add(f"use {path}::{data['name']} = {data['source']}")
        elif data["is_glob"]:
            self.module(*target, path)
        else:
            self.enqueue(*target, f"{path}::{data['name']}")

    def enqueue(self, crate, key, path):
        kind, data = inner(crate.index[key])
        if kind == "use":
            return self.use(crate, data, path.rsplit("::", 1)[0])
        canonical = crate.canonical(key) or (crate.name, key)
        if canonical in self.named:
            self.lines.add(f"use {path} = {self.named[canonical]}")
            return
        self.named[canonical] = path
        self.queue.append((crate, key, path))

    def item(self, crate, key, path):
        item = crate.index[key]
        kind, data = inner(item)
        show = Renderer(self, crate, path)
        if kind == "module":
            self.lines.add(f"mod {path}")
            self.module(crate, key, path)
        elif kind == "function":
            self.lines.add(show.function(path, data))
        elif kind == "struct":
            self.struct(crate, data, path, show)
        elif kind == "enum":
            self.lines.add(f"enum {path}{show.generics(data['generics'])}")
            for variant in data["variants"]:
                self.variant(crate, crate.index[str(variant)], path, show)
            self.impls(crate, data["impls"], path)
        elif kind == "trait":
            bounds = show.bounds(data["bounds"])
            self.lines.add(f"trait {path}{show.generics(data['generics'])}{bounds}")
            for child in data["items"]:
                self.associated(crate, crate.index[str(child)], path)
        elif kind == "type_alias":
            self.lines.add(f"type {path}{show.generics(data['generics'])} = {show.type(data['type'])}")
        elif kind == "constant":
            self.lines.add(f"const {path}: {show.type(data['type'])}")
        elif kind == "static":
            self.lines.add(f"static {path}: {show.type(data['type'])}")
        else:
            self.lines.add(f"{kind} {path}")

    def struct(self, crate, data, path, show):
        self.lines.add(f"struct {path}{show.generics(data['generics'])}")
        kind = data["kind"]
        if isinstance(kind, dict):
            fields = kind["plain"]["fields"] if "plain" in kind else kind["tuple"]
            for field in fields:
                item = crate.index.get(str(field)) if field is not None else None
                if item and item["visibility"] == "public":
                    shown = show.type(inner(item)[1])
                    self.lines.add(f"field {path}.{item['name']}: {shown}")
        self.impls(crate, data["impls"], path)

    def variant(self, crate, item, path, show):
        kind = inner(item)[1]["kind"]
        name = f"{path}::{item['name']}"
        if kind == "plain":
            self.lines.add(f"variant {name}")
            return
        if "tuple" in kind:
            fields = [crate.index[str(field)] for field in kind["tuple"] if field is not None]
            shown = ", ".join(show.type(inner(field)[1]) for field in fields)
            self.lines.add(f"variant {name}({shown})")
            return
        fields = [crate.index[str(field)] for field in kind["struct"]["fields"]]
        shown = ", ".join(f"{field['name']}: {show.type(inner(field)[1])}" for field in fields)
        self.lines.add(f"variant {name} {{ {shown} }}")

    def impls(self, crate, keys, path):
        for key in keys:
            item = crate.index.get(str(key))
            if item is None:
                continue
            data = inner(item)[1]
            if data["is_synthetic"] or data["blanket_impl"] is not None:
                continue
            show = Renderer(self, crate, path)
            if data["trait"] is not None:
                self.lines.add(f"impl {show.path(data['trait'])} for {path}")
                continue
            for child in data["items"]:
                member = crate.index.get(str(child))
                if member and member["visibility"] == "public":
                    self.associated(crate, member, path)

    def associated(self, crate, item, path):
        kind, data = inner(item)
        name = f"{path}::{item['name']}"
        show = Renderer(self, crate, name)
        if kind == "function":
            self.lines.add(show.function(name, data))
        elif kind == "assoc_const":
            self.lines.add(f"const {name}: {show.type(data['type'])}")
        elif kind == "assoc_type":
            self.lines.add(f"type {name}{show.bounds(data['bounds'])}")


class Renderer:
    """Types as text; notes every type of ours it meets."""

    def __init__(self, walker, crate, where):
        self.walker = walker
        self.crate = crate
        self.where = where

    def function(self, path, data):
        header = data["header"]
        words = [word for word in ("const", "async", "unsafe") if header.get(f"is_{word}")]
        arguments = ", ".join(
            f"{name}: {self.type(kind)}" for name, kind in data["sig"]["inputs"]
        )
        output = data["sig"]["output"]
        result = f" -> {self.type(output)}" if output is not None else ""
        generics = self.generics(data["generics"])
        return " ".join([*words, f"fn {path}{generics}({arguments}){result}"])

    def generics(self, data):
        shown = []
        for param in data["params"]:
            kind, held = next(iter(param["kind"].items()))
            if kind == "lifetime":
                shown.append(param["name"])
            elif kind == "type" and not held.get("is_synthetic"):
                shown.append(param["name"] + self.bounds(held["bounds"]))
            elif kind == "const":
                shown.append(f"const {param['name']}: {self.type(held['type'])}")
        wheres = []
        for predicate in data["where_predicates"]:
            held = predicate.get("bound_predicate")
            if held:
                wheres.append(self.type(held["type"]) + self.bounds(held["bounds"]))
        text = f"<{', '.join(shown)}>" if shown else ""
        return text + (f" where {', '.join(wheres)}" if wheres else "")

    def bounds(self, bounds):
        shown = [text for text in map(self.bound, bounds) if text]
        return f": {' + '.join(shown)}" if shown else ""

    def bound(self, bound):
        if "trait_bound" in bound:
            held = bound["trait_bound"]
            mark = "?" if held["modifier"] == "maybe" else ""
            return mark + self.path(held["trait"])
        return bound.get("outlives", "")

    def path(self, data):
        canonical = self.crate.canonical(data["id"])
        if canonical and canonical[0].startswith("windlass_"):
            self.walker.mentioned.setdefault(canonical, self.where)
        name = canonical[-1] if canonical else data["path"].rsplit("::", 1)[-1]
        return name + self.args(data.get("args"))

    def args(self, args):
        if not args:
            return ""
        if "parenthesized" in args:
            held = args["parenthesized"]
            inputs = ", ".join(map(self.type, held["inputs"]))
            output = f" -> {self.type(held['output'])}" if held["output"] else ""
            return f"({inputs}){output}"
        if "angle_bracketed" not in args:
            return ""
        held = args["angle_bracketed"]
        shown = []
        for arg in held["args"]:
            if isinstance(arg, str):
                shown.append("_")
            elif "type" in arg:
                shown.append(self.type(arg["type"]))
            elif "lifetime" in arg:
                shown.append(arg["lifetime"])
            elif "const" in arg:
                shown.append(str(arg["const"].get("expr", "_")))
        for constraint in held["constraints"]:
            binding = constraint["binding"]
            if "equality" in binding and "type" in binding["equality"]:
                shown.append(f"{constraint['name']} = {self.type(binding['equality']['type'])}")
            elif "constraint" in binding:
                shown.append(constraint["name"] + self.bounds(binding["constraint"]))
        return f"<{', '.join(shown)}>" if shown else ""

    def type(self, data):
        if data is None:
            return "()"
        if isinstance(data, str):
            return "_"
        kind, held = next(iter(data.items()))
        if kind == "resolved_path":
            return self.path(held)
        if kind in ("generic", "primitive"):
            return held
        if kind == "tuple":
            return f"({', '.join(map(self.type, held))})"
        if kind == "slice":
            return f"[{self.type(held)}]"
        if kind == "array":
            return f"[{self.type(held['type'])}; {held['len']}]"
        if kind == "borrowed_ref":
            life = f"{held['lifetime']} " if held["lifetime"] else ""
            return f"&{life}{'mut ' if held['is_mutable'] else ''}{self.type(held['type'])}"
        if kind == "raw_pointer":
            return f"*{'mut' if held['is_mutable'] else 'const'} {self.type(held['type'])}"
        if kind == "impl_trait":
            return "impl " + " + ".join(filter(None, map(self.bound, held)))
        if kind == "dyn_trait":
            traits = [self.path(one["trait"]) for one in held["traits"]]
            return "dyn " + " + ".join(traits + ([held["lifetime"]] if held["lifetime"] else []))
        if kind == "function_pointer":
            inputs = ", ".join(self.type(one) for _, one in held["sig"]["inputs"])
            output = held["sig"]["output"]
            return f"fn({inputs})" + (f" -> {self.type(output)}" if output else "")
        if kind == "qualified_path":
            return f"<{self.type(held['self_type'])}>::{held['name']}"
        return kind


def main():
    folder, recorded = Path(sys.argv[1]), Path(sys.argv[2])
    crates = {}
    for file in sorted(folder.glob("windlass_*.json")):
        crate = Crate(file)
        crates[crate.name] = crate
    walker = Walker(crates)
    walker.run()
    unnamed = sorted(set(walker.mentioned) - set(walker.named))
    for path in unnamed:
        print(f"{'::'.join(path)} stands in {walker.mentioned[path]}, and cannot be named")
    lines = sorted(walker.lines)
    if "--write" in sys.argv:
        recorded.write_text("\n".join(lines) + "\n")
    known = set(recorded.read_text().splitlines()) if recorded.exists() else set()
    gone = sorted(known - set(lines))
    new = sorted(set(lines) - known)
    for line in gone:
        print(f"gone: {line}")
    if gone:
        print(
            f"{len(gone)} lines of the public interface are gone; if that is meant, say so in "
            "CHANGELOG.md and record it with `.ci/library/run --write`"
        )
    print(f"{len(lines)} public items, {len(new)} new, {len(unnamed)} types without a name")
    sys.exit(1 if unnamed or gone else 0)


main()
