"""Runs a test generator of promptfoo in Python as a program that writes the cases of a suite.

The author's code in code/ runs unchanged, in that folder. Assertions become scorers as far as this shim knows them; any other one is a
scorer that never has a score, so that its trial is an error and never a pass.
"""

import argparse
import asyncio
import importlib.util
import inspect
import itertools
import json
import os
import re
import sys

parser = argparse.ArgumentParser()
parser.add_argument("file")
parser.add_argument("--function", default="generate_tests")
parser.add_argument("--config")
parser.add_argument("--folder", default="code")  # in which the author's code runs
options = parser.parse_args()
stdout, sys.stdout = sys.stdout, sys.stderr  # standard output is for the cases


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


suite = read("shims/tests.json")
config = [read(options.config)] if options.config else []
shimmed = os.path.exists("shims/assert.mjs")
shimmed_python = os.path.exists("shims/assert.py")
typed = read("shims/typed.json") if os.path.exists("shims/typed.json") else []
home = os.getcwd()
file = os.path.relpath(options.file, options.folder)
os.chdir(options.folder)
sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
spec = importlib.util.spec_from_file_location("author", file)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
tests = getattr(module, options.function)(*config)
if inspect.iscoroutine(tests):
    tests = asyncio.run(tests)
if not isinstance(tests, list):
    sys.exit(f"{options.function} returned {type(tests).__name__}, and not a list of tests")

VARIABLE = re.compile(r"\{\{-?\s*(\w+(?:\.\w+)*)\s*-?\}\}")


def text_of(value):
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def rendered(text, given):
    """Fills in variables; None for a text with another template."""
    if not isinstance(text, str):
        return text_of(text)
    if re.search(r"\{\{|\{%|\{#", VARIABLE.sub("", text)):
        return None

    def value(match):
        at = given
        for key in match.group(1).split("."):
            at = at.get(key) if isinstance(at, dict) else None
        return json.dumps(at) if isinstance(at, (dict, list)) else text_of(at)

    return VARIABLE.sub(value, text)


def unscored(what, why):
    return {"unscored": f"`{what}`: {why}"}


FOLDED = {"ignoreCase": True}
TEXTS = {"equals": ("equals", {}), "contains": ("contains", {}), "icontains": ("contains", FOLDED), "starts-with": ("startsWith", {})}
LISTS = {
    "contains-all": ("containsAll", {}), "contains-any": ("containsAny", {}),
    "icontains-all": ("containsAll", FOLDED), "icontains-any": ("containsAny", FOLDED),
}
IN_SHIM = [*TEXTS, *LISTS, "regex", "levenshtein", "is-json", "contains-json", "word-count"]


def native(base, check, given, weighed):
    """Returns a scorer of evalrun; None if there is none."""
    value, threshold = check.get("value"), check.get("threshold")
    if base == "latency" and isinstance(threshold, (int, float)) and threshold > 0:
        return {"latency": {"max": f"{threshold}ms"}}
    text = rendered(value, given) if value is not None and not isinstance(value, (list, dict)) else None
    if base == "llm-rubric" and text and suite.get("rubric") and not {"provider", "rubricPrompt", "threshold"} & check.keys():
        return json.loads(json.dumps(suite["rubric"]).replace('"RUBRIC"', json.dumps(text)))
    if suite["changes"] or suite["targets"]:  # code changes the answers first
        return None
    takes = {"equals": (str, int, float), "contains": (str, int, float), "icontains": (str, int, float)}.get(base, str)
    if base in TEXTS and text and isinstance(value, takes) and (base == "equals" or not isinstance(value, bool)):
        return {TEXTS[base][0]: text, **TEXTS[base][1]}
    if base in LISTS and isinstance(value, list) and value:
        texts = [rendered(one, given) for one in value]
        return {LISTS[base][0]: texts, **LISTS[base][1]} if all(texts) else None
    if base == "levenshtein" and not weighed and isinstance(value, str) and text is not None and not check["type"].startswith("not-"):
        return {"levenshtein": {"to": text, "max": 5 if threshold is None else threshold}}
    return None


def in_shim(base, check, negated, given):
    """Returns a scorer that the shim for assertions judges; None if it does not know the assertion."""
    value = check.get("value")
    if base not in IN_SHIM or not shimmed or base in ("is-json", "contains-json") and value is not None:
        return None
    if isinstance(value, str):
        value = rendered(value, given)
    if value is None and base not in ("is-json", "contains-json") or base != "regex" and "{{" in json.dumps(value):
        return None
    args = {"check": base, "value": value, "not": negated, "targets": suite["targets"], "changes": suite["changes"]}
    if check.get("threshold") is not None:
        args["threshold"] = check["threshold"]
    return {"exec": {"command": ["node", "shims/assert.mjs"], "args": args, "timeout": "1m"}}


def of_code(base, check, negated, given, weighed):
    """Returns a scorer that runs code in a shim: a text without templates, or a file that is there; None for anything else."""
    ending = {"javascript": r"\.[mc]?[jt]s$", "python": r"\.py$"}.get(base)
    value = check.get("value")
    if not ending or not isinstance(value, str) or not value.strip() or re.search(r"^package:|\{\{|\{%|\{#", value):
        return None
    changed = bool(suite["changes"]) or any(target.get("changes") for target in suite["targets"].values())
    if not (shimmed_python and (shimmed or not changed) if base == "python" else shimmed):
        return None
    numbers = [name for name, one in given.items() if isinstance(one, (int, float))]
    args = {"check": base, "not": negated, "targets": suite["targets"], "changes": suite["changes"], "typed": [*typed, *numbers]}
    args["weighed"] = weighed and weight_of(check.get("weight")) != 0
    args.update({key: check[key] for key in ("threshold", "config") if check.get(key) is not None})
    command = ["python3", "shims/assert.py"] if base == "python" and not changed else ["node", "shims/assert.mjs"]
    if value.startswith("file://"):
        ref, _, name = value[len("file://"):].partition(":")
        if not re.search(ending, ref) or not os.path.exists(ref):
            return None
        args["code"] = os.path.relpath(ref, home) + (f":{name}" if name else "")
        command.append(args["code"])
    else:
        args["source"] = value
    return {"exec": {"command": command, "args": args, "timeout": "1m"}}


KNOWN = {"type", "value", "threshold", "weight", "metric", "description", "provider", "rubricPrompt"}


def is_kind(check):
    """Reports whether promptfoo has the type of an assertion, and those of all in a set."""
    base = re.sub("^not-", "", str(check.get("type"))) if isinstance(check, dict) else ""
    if base == "assert-set":
        return all(map(is_kind, check.get("assert") or []))
    return base.startswith("promptfoo:") or base in suite["kinds"]


def weight_of(weight):
    """Returns a number that is written as one, or as a text as in the configuration; None for anything else."""
    if weight is None:
        return 1
    if isinstance(weight, str) and re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", weight):
        weight = float(weight)
    known = isinstance(weight, (int, float)) and not isinstance(weight, bool)
    return weight if known and 0 <= weight < float("inf") else None


def scorer(check, given, names, weighed):
    """Returns a scorer. weighed: a threshold counts scores, and that of levenshtein must be 0 or 1, that of code between them."""
    kind = check.get("type") if isinstance(check, dict) else None
    if not isinstance(kind, str):
        return unscored("assert", "an assertion without a type")
    base, negated = (kind[4:], True) if kind.startswith("not-") else (kind, False)
    found = None
    value = check.get("value")
    elsewhere = any(str(one).startswith(("file://", "package:")) for one in (value if isinstance(value, list) else [value]))
    if check.keys() <= KNOWN and not elsewhere:
        found = native(base, check, given, weighed)
        if found and negated:
            found = {"not": found}
        found = found or in_shim(base, check, negated, given)
    if check.keys() <= KNOWN | {"config"}:
        found = found or of_code(base, check, negated, given, weighed)
    weight = weight_of(check.get("weight"))
    if not found and weight == 0 and is_kind(check):  # its score was only shown
        return None
    found = found or unscored(kind, "the program that writes the tests makes an assertion that the import does not know")
    if weight is None:
        found = unscored("weight", f"a weight is a number of 0 or more, such as 1, and not {json.dumps(check['weight'])}")
    elif weight == 0:
        found.update(weight=0, threshold=0)
    elif check.get("weight") is not None:
        found["weight"] = weight
    if isinstance(check.get("metric"), str):
        base = re.sub(r"[^A-Za-z0-9._-]+", "-", check["metric"]).strip("-.")[:40] or "metric"
        found["name"] = next(name for n in itertools.count(1) if (name := base if n == 1 else f"{base}-{n}") not in names)
        names.add(found["name"])
    return found


def tags(metadata):
    out = []
    for key, value in (metadata or {}).items():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, str) and one:
                out.append(f"{key}:{one}".replace(",", ";")[:80])
    return out


READ = {"vars", "assert", "description", "threshold", "metadata", "options"}
OPTIONS = {"repeat", "disableVarExpansion", "disableDefaultAsserts", "runSerially"}


NAME = re.compile(r"\{\{\s*(\w+)\s*\}\}")


def variables(own, lost):
    """Fills in the variables of a test, and those of the defaults that hold others.

    For each test, promptfoo fills in the first name of each text, five times, and then all. A text stays as it is where one of its
    variables is missing.
    """
    around = {**suite["vars"], **own}

    def first(match):
        value = around.get(match.group(1))
        return match.group(0) if match.group(1) not in around or isinstance(value, (dict, list)) else text_of(value)

    for _ in range(5):
        for name, value in around.items():
            if isinstance(value, str):
                around[name] = NAME.sub(first, value, count=1)
    filled = {}
    held = [one for one in suite["vars"] if one not in own and (around[one] != suite["vars"][one] or VARIABLE.search(str(around[one])))]
    for name in [*held, *own]:
        value = around[name]
        if isinstance(own.get(name), str) and own[name].startswith("file://"):
            lost.append(unscored("vars", f"promptfoo reads the file of `{name}`; read it in the program"))
        filled[name] = "" if value is None else value
        if not isinstance(value, str):
            continue
        names = VARIABLE.findall(value)
        missing = [one for one in names if one.split(".")[0] not in around]
        for one in names:
            if one.split(".")[0] in suite["broken"] if one in missing else isinstance(around.get(one), (dict, list)):
                lost.append(unscored("vars", f"`{name}` holds `{one}`, which is not one text here"))
        text = rendered(value, around)
        if text is None:
            lost.append(unscored("vars", f"`{name}` has a template that the import cannot fill in"))
        filled[name] = value if missing else text or ""
    return filled


def cases(test, number):
    if not isinstance(test, dict):
        sys.exit(f"test {number} is no mapping: {json.dumps(test)[:200]}")
    lost, opts, given = [], test.get("options") or {}, test.get("vars") or {}
    for key in sorted(set(test) - READ) + sorted(set(opts) - OPTIONS):
        lost.append(unscored(key, "a test of a program has no counterpart for it"))
    if not isinstance(given, dict):
        lost, given = [*lost, unscored("vars", "they are no mapping")], {}
    lists = [] if opts.get("disableVarExpansion") else [name for name, value in given.items() if isinstance(value, list)]
    threshold = test.get("threshold")
    if threshold is not None and not (isinstance(threshold, (int, float)) and 0 <= threshold <= 1):
        lost, threshold = [*lost, unscored("threshold", "it is no number from 0 to 1")], None
    for values in itertools.product(*(given[name] for name in lists)):
        own = list(lost)
        filled = variables({**given, **dict(zip(lists, values))}, own)
        names = set(suite["names"])
        found = [scorer(check, {**suite["vars"], **filled}, names, suite["weighed"] or threshold is not None) for check in test.get("assert") or []]
        found = [*(one for one in found if one), *own]
        case = {"name": str(test.get("description") or f"test {number}"), "vars": filled, "scorers": found}
        if not found:
            del case["scorers"]
            if suite["bare"] or opts.get("disableDefaultAsserts"):
                case["scorers"] = [{"expr": "true"}]  # no assertion: any answer passes, as in promptfoo
        if tags(test.get("metadata")):
            case["tags"] = tags(test["metadata"])
        if threshold is not None:
            case["threshold"] = threshold
        if opts.get("repeat"):
            case["repeats"] = opts["repeat"]
        if opts.get("disableDefaultAsserts"):
            case["inheritScorers"] = False
        yield case


for number, test in enumerate(tests, 1):
    for case in cases(test, number):
        stdout.write(json.dumps(case, ensure_ascii=False) + "\n")
