"""Reads what a release says it is made of, by others' readers: the list beside the program (CycloneDX) and
the one inside it (cargo-auditable). Both must be valid and name the same packages.

    bill_of_materials.py LIST PROGRAM
"""

import json
import subprocess
import sys
import zlib

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

# Below this, something was not counted.
PACKAGES_MIN = 100


def read_list(path):
    text = open(path, encoding="utf-8").read()
    problem = JsonStrictValidator(SchemaVersion.V1_5).validate_str(text)
    if problem:
        sys.exit(f"{path}: {problem}")
    components = json.loads(text)["components"]
    unlicensed = [one["name"] for one in components if "licenses" not in one]
    if unlicensed:
        sys.exit(f"{path}: no licence is named for {', '.join(unlicensed)}")
    return {(one["name"], one["version"]) for one in components}


def read_program(path):
    words = ["objcopy", "--dump-section", ".dep-v0=/dev/stdout", path, "/dev/null"]
    packed = subprocess.run(words, check=True, capture_output=True).stdout
    if not packed:
        sys.exit(f"{path} names no packages: it was not built by cargo-auditable")
    packages = json.loads(zlib.decompress(packed))["packages"]
    # What only helped to build it is in the list, too.
    inside = [one for one in packages if one.get("kind") != "build" and not one.get("root")]
    return {(one["name"], one["version"]) for one in inside}


def main():
    listed, inside = read_list(sys.argv[1]), read_program(sys.argv[2])
    missing = sorted(inside - listed)
    if missing:
        sys.exit(f"in the program and not in {sys.argv[1]}: {missing}")
    if len(inside) < PACKAGES_MIN:
        sys.exit(f"the program names only {len(inside)} packages")
    print(f"{len(listed)} packages listed, {len(inside)} of them inside the program")


main()
