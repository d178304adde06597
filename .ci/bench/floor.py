"""The least an agent can be: asks, runs the command it is told, sends the result, until there is none.

No permissions, no journal, no limits. What it costs is what the server, the shell and the interpreter cost.
"""

import http.client
import json
import os
import subprocess
import sys
import urllib.parse

TOOL = {
    "name": "Bash",
    "description": "Runs a command.",
    "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}},
}


def read_answer(response):
    """Yields the calls of an answer as they become complete."""
    arguments, name, ident = "", None, None
    for line in response:
        if not line.startswith(b"data: "):
            continue
        event = json.loads(line[6:])
        kind = event["type"]
        if kind == "content_block_start" and event["content_block"]["type"] == "tool_use":
            name, ident, arguments = event["content_block"]["name"], event["content_block"]["id"], ""
        elif kind == "content_block_delta" and event["delta"]["type"] == "input_json_delta":
            arguments += event["delta"]["partial_json"]
        elif kind == "content_block_stop" and name:
            yield {"type": "tool_use", "id": ident, "name": name, "input": json.loads(arguments)}
            name = None


def main():
    server = urllib.parse.urlsplit(os.environ["ANTHROPIC_BASE_URL"])
    connection = http.client.HTTPConnection(server.hostname, server.port)
    messages = [{"role": "user", "content": sys.argv[1]}]
    headers = {"content-type": "application/json", "x-api-key": "test-key"}
    while True:
        body = {"model": "floor", "max_tokens": 1000, "stream": True, "tools": [TOOL]}
        text = json.dumps(body | {"messages": messages})
        connection.request("POST", server.path + "/v1/messages", text, headers)
        running = []
        for call in read_answer(connection.getresponse()):
            command = ["bash", "-c", call["input"]["command"]]
            running.append((call, subprocess.Popen(command, stdout=subprocess.PIPE, text=True)))
        if not running:
            return
        results = [
            {"type": "tool_result", "tool_use_id": call["id"], "content": child.communicate()[0]}
            for call, child in running
        ]
        messages.append({"role": "assistant", "content": [call for call, _ in running]})
        messages.append({"role": "user", "content": results})


main()
