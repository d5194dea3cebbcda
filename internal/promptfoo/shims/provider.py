"""Runs a Python provider of promptfoo as a program under test.

evalrun writes the prompt as JSON to standard input and reads {"text", "usage"} or {"error"} from standard output. The author's code
runs unchanged.
"""

import argparse
import asyncio
import contextlib
import importlib.util
import inspect
import json
import os
import re
import sys

parser = argparse.ArgumentParser()
parser.add_argument("file")
parser.add_argument("--function", default="call_api")
parser.add_argument("--config")
parser.add_argument("--id", default="")
parser.add_argument("--details", action="store_true")
options = parser.parse_args()
if os.name == "posix":
    os.set_blocking(0, True)  # the pipe may have nothing yet
given = json.load(sys.stdin)
if os.path.exists("shims/typed.json"):  # numbers and booleans are texts in a suite
    with open("shims/typed.json", encoding="utf-8") as names:
        for name in json.load(names):
            with contextlib.suppress(KeyError, TypeError, ValueError):  # a spelling that is not one of JSON stays a text
                given["vars"][name] = json.loads(given["vars"][name])
stdout, sys.stdout = sys.stdout, sys.stderr  # standard output is for the answer

sys.path.insert(0, os.path.dirname(os.path.abspath(options.file)))
spec = importlib.util.spec_from_file_location("author", options.file)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)


def filled(value):
    """Replaces ${env:NAME} by the variable of the environment, which holds a secret that the import did not copy."""
    if isinstance(value, dict):
        return {key: filled(item) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item) for item in value]
    if isinstance(value, str):
        return re.sub(r"\$\{env:(\w+)\}", lambda found: os.environ.get(found[1]) or sys.exit(f"set {found[1]}"), value)
    return value


config = {}
if options.config:
    with open(options.config, encoding="utf-8") as file:
        config = filled(json.load(file))
result = getattr(module, options.function)(given["prompt"], {"id": options.id, "config": config}, {"vars": given.get("vars") or {}})
if inspect.iscoroutine(result):
    result = asyncio.run(result)
if not isinstance(result, dict):
    result = {"output": result}
if result.get("error"):
    answer = {"error": str(result["error"])}
elif result.get("output") is None:
    answer = {"error": "the provider returned no output"}
else:
    output, tokens = result["output"], result.get("tokenUsage") or {}
    if not isinstance(output, str):  # a tab marks an object, for transforms and assertions
        output = json.dumps(output, separators=(",", ":"), ensure_ascii=False) + "\t"
    answer = {"text": output}
    if options.details:
        args = {key: value for key, value in result.items() if key != "output"}
        answer["toolCalls"] = [{"name": "promptfoo.response", "args": json.loads(json.dumps(args, default=str))}]
    usage = {"inputTokens": tokens.get("prompt"), "outputTokens": tokens.get("completion"), "totalTokens": tokens.get("total")}
    usage = {key: value for key, value in usage.items() if value is not None}
    if usage:
        answer["usage"] = usage
json.dump(answer, stdout)
