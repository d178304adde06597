"""Whether everything public of some crates is still there unchanged, from rustdoc's JSON.

usage: same_interface.py <earlier folder> <later folder> <crate>...

Compares whole items: generics, bounds, fields, variants, attributes, deprecations, and which traits are implemented,
the automatic ones included. New items, methods and implementations break nobody. Ends with 1 and names the items if
one is gone or differs: then it is cargo-semver-checks that says whether it matters.
"""

import json
import sys
from pathlib import Path

# What says where an item stands, or what it is about, and not what it is.
SKIPPED = {"span", "docs", "links", "id", "crate_id"}
# What new members may be added to.
GROWING = {"module", "impl"}


class Interface:
    def __init__(self, file):
        data = json.loads(file.read_text())
        self.index = {str(key): item for key, item in data["index"].items()}
        self.paths = {str(key): "::".join(one["path"]) for key, one in data["paths"].items()}
        self.items = {}
        self.add(str(data["root"]), "")

    def add(self, key, parent):
        """Notes an item by its public path, and what stands in it."""
        item = self.index.get(key)
        if item is None:
            return
        kind, held = next(iter(item["inner"].items()))
        held = held if isinstance(held, dict) else {"value": held}
        path = f"{parent} {self.describe_impl(held)}" if kind == "impl" else f"{parent}::{item['name']}"
        members = held.get("items", []) if kind in GROWING else []
        own = {name: value for name, value in held.items() if name not in ("items", "impls", "implementations")}
        if kind not in GROWING:
            own["items"] = held.get("items")
        text = json.dumps([self.describe(item), self.plain(own)], sort_keys=True)
        # One path may hold a type, a value and several implementations.
        self.items.setdefault((kind, path), set()).add(text)
        for member in members:
            self.add(str(member), path)
        for member in held.get("impls", []):
            self.add(str(member), path)

    def describe_impl(self, held):
        trait = held["trait"]
        generics = json.dumps(self.plain(held["generics"]), sort_keys=True)
        return json.dumps([self.plain(trait), self.plain(held["for"]), generics], sort_keys=True)

    def plain(self, value):
        """Without what differs from run to run: a number of an item becomes its path or the item itself."""
        if isinstance(value, dict):
            named = {name: self.plain(one) for name, one in value.items() if name not in SKIPPED}
            # A type or a trait, as it is written in the source and as it is called.
            if "id" in value and "path" in value:
                named["path"] = self.paths.get(str(value["id"]), value["path"])
            return named
        if isinstance(value, list):
            return [self.plain(one) for one in value]
        # Every number that is left is an item's: fields, variants, members of a trait.
        if isinstance(value, int) and not isinstance(value, bool):
            return self.member(str(value))
        return value

    def member(self, key):
        item = self.index.get(key)
        if item is None:
            return self.paths.get(key, "?")
        kind, held = next(iter(item["inner"].items()))
        return [self.describe(item), kind, self.plain(held)]

    def describe(self, item):
        is_public = item["visibility"] in ("public", "default")
        return [item["name"], is_public, item["attrs"], item["deprecation"]]


def main():
    before, after, names = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    count, differing = 0, []
    for name in names:
        file = f"windlass_{name.replace('-', '_')}.json"
        earlier, later = (Interface(folder / file).items for folder in (before, after))
        count += len(earlier)
        differing += [f"windlass-{name}: {' '.join(key)[:200]}" for key, texts in earlier.items()
                      if not texts <= later.get(key, set())]
    if differing:
        print("\n".join(differing))
        sys.exit(1)
    print(f"{count} public items are as they were")


main()
