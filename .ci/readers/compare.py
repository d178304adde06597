"""Compares what readers of transcripts say with what the run itself said."""

import html
import json
import pathlib
import re
import sys

from claude_monitor.data.reader import load_usage_entries

work = pathlib.Path(sys.argv[1])
result = json.loads((work / "result.json").read_text())
(used,) = result["modelUsage"].values()
tokens = (used["inputTokens"], used["outputTokens"])
cost = result["total_cost_usd"]

for version in ("17", "20"):
    totals = json.loads((work / f"ccusage-{version}.json").read_text())["totals"]
    counted = (totals["inputTokens"], totals["outputTokens"])
    assert counted == tokens, (version, counted, tokens)
    assert abs(totals["totalCost"] - cost) < 1e-9, (version, totals["totalCost"], cost)
    print(f"ccusage {version}: {counted} tokens, ${totals['totalCost']:.5f}")

entries, _ = load_usage_entries(data_path=str(pathlib.Path.home() / ".claude" / "projects"))
counted = (sum(one.input_tokens for one in entries), sum(one.output_tokens for one in entries))
assert counted == tokens, ("claude-monitor", counted, tokens)
print(f"claude-monitor: {counted} tokens in {len(entries)} answers")

page = html.unescape((work / "log.html").read_text())
calls = len(re.findall(r"""class=['"][^'"]*\btool_use\b""", page))
results = len(re.findall(r"""class=['"][^'"]*\btool_result\b""", page))
assert (calls, results) == (4, 4), ("claude-code-log", calls, results)
print(f"claude-code-log: {calls} calls, {results} results")
