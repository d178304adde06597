"""Holds frames of the protocol against the published schema."""

import json

import jsonschema


class Schema:
    def __init__(self, path):
        self.definitions = json.load(open(path))["$defs"]
        self.validators = {}
        self.by_method = {}
        for name, definition in self.definitions.items():
            method = definition.get("x-method")
            if method:
                for end in ("Request", "Response", "Notification"):
                    if name.endswith(end):
                        self.by_method[(method, end)] = name

    def find_problems(self, frame, asked):
        """What is wrong with a frame; `asked` has the methods of requests by their ids."""
        if frame.get("jsonrpc") != "2.0":
            return ["it is not JSON-RPC 2.0"]
        method = frame.get("method")
        if method is None:
            if "error" in frame:
                return self.validate("Error", frame["error"])
            return self.validate_method(asked.get(frame.get("id")), "Response", frame.get("result"))
        end = "Request" if "id" in frame else "Notification"
        # What both sides may always send.
        if method.startswith("$/"):
            return []
        return self.validate_method(method, end, frame.get("params"))

    def validate_method(self, method, end, value):
        name = self.by_method.get((method, end))
        if name is None:
            return [f"there is no {end} of {method}"]
        return self.validate(name, value)

    def validate(self, name, value):
        if name not in self.validators:
            schema = {"$ref": f"#/$defs/{name}", "$defs": self.definitions}
            self.validators[name] = jsonschema.Draft202012Validator(schema)
        return [f"{name}: {error.message}" for error in self.validators[name].iter_errors(value)]
