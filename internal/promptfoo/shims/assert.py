"""Runs a Python assertion of promptfoo over an answer.

It is a scorer of kind exec: evalrun writes the answer as JSON to standard input and reads {"score", "passed", "reason"} from
standard output. The author's code runs unchanged. Code that raises is a failed check, as in promptfoo; code
that cannot be loaded ends the shim with an error, which is no verdict.
"""

import asyncio
import importlib.util
import inspect
import json
import os
import re
import sys

if os.name == "posix":
    os.set_blocking(0, True)  # the pipe may have nothing yet
given = json.load(sys.stdin)
args = given.get("args") or {}
typed = args.get("typed")  # numbers and booleans are texts in a suite
if typed is None and os.path.exists("shims/typed.json"):
    with open("shims/typed.json", encoding="utf-8") as names:
        typed = json.load(names)
for name in typed or []:
    if isinstance((given.get("vars") or {}).get(name), str):
        try:
            given["vars"][name] = json.loads(given["vars"][name])
        except ValueError:
            pass
# What the author's provider returned besides its output, where the shim for providers passed it on.
response = given.get("response")
for call in given.get("toolCalls") or []:
    if call.get("name") == "promptfoo.response":
        response = call.get("args") or {}
given["toolCalls"] = [call for call in given.get("toolCalls") or [] if call.get("name") != "promptfoo.response"]
stdout, sys.stdout = sys.stdout, sys.stderr  # standard output is for the verdict


def rendered(code):
    if not args.get("render"):
        return code

    def value(match):
        at = given.get("vars") or {}
        for key in match.group(1).split("."):
            at = at.get(key) if isinstance(at, dict) else None
        if match.group(2):
            return json.dumps(at)
        return "" if at is None else str(at)

    return re.sub(r"\{\{-?\s*(\w+(?:\.\w+)*)\s*(\|\s*(?:dump|tojson)\s*)?-?\}\}", value, code)


def compiled(code, path):
    if "\n" in code:
        indent = re.search(r"^(?!\s*$)\s+", code, re.M)
        space = indent.group(0).lstrip("\n") if indent else "    "
        body = "\n".join(space + line for line in code.split("\n"))
    else:
        body = "    return " + code
    space = {}
    exec(compile(f"import json\n\ndef main(output, context):\n{body}\n", path, "exec"), space)  # the author's own code
    return space["main"]


def load(ref):
    path, _, name = ref.partition(":")
    if path.startswith("checks/"):
        with open(path, encoding="utf-8") as file:
            return compiled(rendered(file.read()), path)
    folder = os.path.dirname(os.path.abspath(path))
    sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location("author", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    at = module
    for part in (name or "get_assert").split("."):
        at = getattr(at, part)
    return at


def with_calls(text, calls, form):
    """Shows the tool calls of an answer in the form that promptfoo has for the target."""
    calls = [(f"call_{i}", call["name"], call.get("args") or {}) for i, call in enumerate(calls)]

    def dump(value):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)

    if form == "anthropic":
        blocks = [dump({"type": "tool_use", "id": at, "name": name, "input": args}) for at, name, args in calls]
        return "\n\n".join(filter(None, [text, *blocks]))
    if form == "generative":
        return ([{"text": text}] if text else []) + [{"functionCall": {"name": name, "args": args}} for _, name, args in calls]
    if form == "responses":
        items = [
            dump({"type": "function_call", "id": at, "call_id": at, "status": "completed", "name": name, "arguments": dump(args)} if args
                 else {"type": "function_call", "name": name, "status": "no_arguments_provided"})
            for at, name, args in calls
        ]
        return "\n".join(filter(None, [text, *items]))
    if form == "function":
        key, shown = "function_call", {"name": calls[0][1], "arguments": dump(calls[0][2])}
    else:
        key = "tool_calls"
        shown = [{"id": at, "type": "function", "function": {"name": name, "arguments": dump(args)}} for at, name, args in calls]
    return {"role": "assistant", "content": text, key: shown} if text else shown


def output():
    if "output" in given:
        return given["output"]
    answer = given["answer"]
    target = (args.get("targets") or {}).get(given["arm"].split("/")[0]) or {}
    if given.get("toolCalls"):
        return with_calls(answer, given["toolCalls"], target.get("calls"))
    if target.get("json") is True or target.get("json") == "marked" and answer.endswith("\t"):  # of a shim, a tab marks what was an object
        try:
            value = json.loads(answer)
            if isinstance(value, (dict, list)):
                return value
        except ValueError:
            pass
    return answer


def prompt():
    contents = (given.get("request") or {}).get("contents") or []
    texts = [(c.get("role"), "".join(p.get("text", "") for p in c.get("parts") or [])) for c in contents]
    if len(texts) == 1:
        return texts[0][1]
    return json.dumps([{"role": role, "content": text} for role, text in texts])


def verdict(result):
    negated, threshold = args.get("not") is True, args.get("threshold")
    if isinstance(result, str):
        if result.lower() in ("true", "false"):
            result = result.lower() == "true"
        elif result.startswith("{"):
            result = json.loads(result)
        else:
            result = float(result)
    if hasattr(result, "pass_") and not isinstance(result, dict):
        result = {"pass": result.pass_, "score": result.score, "reason": getattr(result, "reason", "")}
    if isinstance(result, bool):
        passed = result != negated
        return passed, 1.0 if passed else 0.0, f"the check returned {result}"
    if isinstance(result, (int, float)) and result == result:
        raw = result > 0 if threshold is None else result >= threshold
        return raw != negated, float(result), f"the check returned {result}"
    if not isinstance(result, dict):
        raise ValueError(f"the check returned {result!r}, which is no bool, number or dict of pass, score and reason")
    passed = result.get("pass", result.get("pass_"))
    score = result.get("score")
    if not isinstance(passed, bool) or not isinstance(score, (int, float)) or not isinstance(result.get("reason"), str):
        raise ValueError(f"the check returned {result!r}, which lacks pass, score or reason")
    if threshold is not None and score < threshold:
        passed = False
    return passed != negated, float(score), result["reason"]


class Guarded(dict):
    """What evalrun does not have is no answer to a check, which may be glad of nothing: reading it makes the trial an error."""

    absent = ""
    unasked = ["error", "cached"]

    def __init__(self, name, has):
        super().__init__(has)
        self.name = name

    def __missing__(self, key):
        if key in Guarded.unasked:
            return None
        Guarded.absent = f"{self.name}[{key!r}]"
        raise KeyError(f"evalrun has no {Guarded.absent}")

    def get(self, key, default=None):
        return self[key] if key not in Guarded.unasked or super().__contains__(key) else default

    def __contains__(self, key):
        if not super().__contains__(key) and key not in Guarded.unasked:
            Guarded.absent = f"{self.name}[{key!r}]"
        return super().__contains__(key)


check = compiled(args["source"], "a generated check") if args.get("source") else load(sys.argv[1])
context = Guarded("context", {
    "prompt": prompt(),
    "vars": given.get("vars") or {},
    "test": Guarded("context['test']", {
        "vars": given.get("vars") or {}, "description": given.get("case"), **({"metadata": args["metadata"]} if "metadata" in args else {})
    }),
    "config": args.get("config") or {},
    "providerResponse": Guarded("context['providerResponse']", {"output": output(), "raw": given.get("answer")}),
})
if response is not None:
    Guarded.unasked += ["metadata", "logProbs"]
    context.update({key: response[key] for key in Guarded.unasked if key in response}, providerResponse={**response, "output": output()})
try:
    found = check(output(), context)
    if inspect.iscoroutine(found):
        found = asyncio.run(found)
    passed, score, reason = verdict(found)
except Exception as error:  # whatever the author's code raises
    passed, score, reason = False, 0.0, f"the check failed: {error}"
if Guarded.absent:
    sys.exit(f"the check reads {Guarded.absent}, which evalrun does not have")
score = score if score == score else 0.0
if not args.get("weighed"):  # a threshold would count what is cut off: evalrun refuses the score
    score = min(1.0, max(0.0, score))
json.dump({"score": score, "passed": passed, "reason": str(reason)[:10000]}, stdout)
