"""Judges recorded requests by the types of the providers' own client libraries: `judge.py TAPE...`

The libraries describe what their services take. Every recorded body is checked against that
description, with no field allowed that it does not know. One line per recording; exit code 1 if any
request is not as the library would have it.
"""

import base64
import importlib
import json
import pathlib
import pkgutil
import sys
import typing

import pydantic
import typing_extensions


def strict(package):
    """Makes every described object of a package refuse fields it does not know."""
    rules = pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    root = importlib.import_module(package)
    names = [package]
    names += [found.name for found in pkgutil.walk_packages(root.__path__, package + ".")]
    for name in names:
        for value in vars(importlib.import_module(name)).values():
            if typing.is_typeddict(value) or typing_extensions.is_typeddict(value):
                value.__pydantic_config__ = rules


def exhaust(value):
    """Walks what was validated to its end: lists are validated only while they are read."""
    if isinstance(value, dict):
        for inner in value.values():
            exhaust(inner)
    elif not isinstance(value, (str, bytes, int, float, type(None))) and hasattr(value, "__iter__"):
        for inner in value:
            exhaust(inner)


def anthropic_messages(body):
    # What needs a header of its own is typed apart.
    if "context_management" in body:
        from anthropic.types.beta import message_create_params
    else:
        from anthropic.types import message_create_params

    exhaust(adapter(message_create_params.MessageCreateParamsStreaming).validate_python(body))


def openai_chat(body):
    from openai.types.chat import completion_create_params

    exhaust(adapter(completion_create_params.CompletionCreateParamsStreaming).validate_python(body))


def openai_responses(body):
    from openai.types.responses import response_create_params

    exhaust(adapter(response_create_params.ResponseCreateParamsStreaming).validate_python(body))


def gemini(body):
    from google.genai import types

    parts = {
        "contents": list[types.Content],
        "systemInstruction": types.Content,
        "tools": list[types.Tool],
        "toolConfig": types.ToolConfig,
        "generationConfig": types.GenerationConfig,
    }
    unknown = set(body) - set(parts)
    if unknown:
        raise ValueError(f"unknown fields: {sorted(unknown)}")
    for content in body["contents"]:
        for part in content["parts"]:
            # A seal is whatever the server gave, and the scripted one gives readable ones.
            if "thoughtSignature" in part:
                part["thoughtSignature"] = base64.b64encode(part["thoughtSignature"].encode())
    for name, value in body.items():
        adapter(parts[name]).validate_python(value)


ADAPTERS = {}


def adapter(kind):
    """One for each type: making them is what takes time."""
    key = str(kind)
    if key not in ADAPTERS:
        ADAPTERS[key] = pydantic.TypeAdapter(kind)
    return ADAPTERS[key]


def judge_for(path):
    """Which wire a request went over shows in its path."""
    if path.startswith("/v1/messages"):
        return anthropic_messages
    if path.startswith("/v1/chat/completions"):
        return openai_chat
    if path.startswith("/v1/responses"):
        return openai_responses
    if path.startswith("/v1beta/models/"):
        return gemini
    raise ValueError(f"no judge for {path}")


def requests(tape):
    for file in sorted(pathlib.Path(tape).glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            line = json.loads(line)
            if "request" in line:
                yield line["request"]["path"], line["request"]["body"]["json"]


def main():
    for package in ("anthropic.types", "openai.types"):
        strict(package)
    is_wrong = False
    for tape in sys.argv[1:]:
        name, count = pathlib.Path(tape).name, 0
        try:
            for path, body in requests(tape):
                judge_for(path)(body)
                count += 1
            if count < 2:
                raise ValueError(f"only {count} requests to judge")
        except (pydantic.ValidationError, ValueError) as problem:
            is_wrong = True
            words = " | ".join(str(problem).splitlines()[:12])
            print(f"FAIL {name}: request {count + 1}: {words}")
        else:
            print(f"ok   {name}: {count} requests are as the client library would have them")
    sys.exit(1 if is_wrong else 0)


if __name__ == "__main__":
    main()
