"""Runs a prompt function of promptfoo in Python as a program that writes prompts.

evalrun writes {"vars", "target"} to standard input and reads {"system", "turns", "tools"} from standard output. The author's code
in code/ runs unchanged, in that folder. A file without a function runs as a script, whose standard output is the prompt.
"""

import argparse
import asyncio
import importlib.util
import inspect
import json
import os
import re
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("file")
parser.add_argument("--function")
parser.add_argument("--config")
parser.add_argument("--folder", default="code")  # in which the author's code runs
options = parser.parse_args()
if os.name == "posix":
    os.set_blocking(0, True)  # the pipe may have nothing yet
given = json.load(sys.stdin)
if given["vars"].get("notImported"):  # a case that is only an error
    print("not imported")
    sys.exit()
stdout, sys.stdout = sys.stdout, sys.stderr  # standard output is for the prompt


def read(path, missing):
    if not path or not os.path.exists(path):
        return missing
    with open(path, encoding="utf-8") as file:
        return json.load(file)


target = read("shims/targets.json", {}).get(given["target"]["name"], {})
config = read(options.config, {})
for name in read("shims/typed.json", []):  # numbers and booleans are texts in a suite
    if isinstance(given["vars"].get(name), str):
        try:
            given["vars"][name] = json.loads(given["vars"][name])
        except ValueError:
            pass
context = {"vars": given["vars"], "provider": {"id": target.get("id", ""), "label": target.get("label", "")}, "config": config}
file = os.path.relpath(options.file, options.folder)
os.chdir(options.folder)


def made():
    if not options.function:
        run = subprocess.run([sys.executable, file, json.dumps(context)], stdout=subprocess.PIPE, encoding="utf-8", check=True)
        return "\n".join(run.stdout.splitlines())
    sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
    spec = importlib.util.spec_from_file_location("author", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    result = getattr(module, options.function)(context)
    return asyncio.run(result) if inspect.iscoroutine(result) else result


VARIABLE = re.compile(r"\{\{-?\s*(\w+(?:\.\w+)*)\s*(\|\s*(?:dump|tojson|safe)\s*)?-?\}\}")


def rendered(text):
    """Fills in variables, as promptfoo does in what the function returns."""

    def value(match):
        at = given["vars"]
        for key in match.group(1).split("."):
            at = at.get(key) if isinstance(at, dict) else None
        if match.group(2) and "safe" not in match.group(2):
            return json.dumps(at, ensure_ascii=False)
        if isinstance(at, (dict, list)):
            sys.exit(f"the prompt has the template {match.group(0)} of a list or a mapping; return its text")
        return "" if at is None else str(at).lower() if isinstance(at, bool) else str(at)

    if re.search(r"\{\{|\{%|\{#", VARIABLE.sub("", text)):
        sys.exit("the prompt has a template that the shim cannot fill in; fill it in by the function: " + text[:200])
    return VARIABLE.sub(value, text)


ROLES = {"user": "user", "assistant": "model", "model": "model", "system": "system", "developer": "system"}


def content(message):
    body = message.get("content")
    if isinstance(body, str):
        return rendered(body)
    parts = body if isinstance(body, list) else [{}]
    if any(part.get("type") not in ("text", "input_text") for part in parts):
        sys.exit("a message has a part that is no text; name the file in a prompt of the suite: " + json.dumps(body)[:200])
    return [{"text": rendered(part["text"])} for part in parts]


def chat(messages):
    system, turns = [], []
    for message in messages:
        role, body = ROLES.get(message.get("role")), content(message)
        if role is None or message.get("tool_calls"):
            sys.exit("a message has no counterpart in a suite: " + json.dumps(message)[:200])
        if role == "system" and not turns and isinstance(body, str):
            system.append(body)
            continue
        role = "user" if role == "system" else role
        if turns and role in turns[-1]:
            before = turns[-1][role]
            if isinstance(before, str) and isinstance(body, str):
                turns[-1][role] = before + "\n\n" + body
            else:
                turns[-1][role] = [part if isinstance(part, dict) else {"text": part} for of in (before, body)
                                   for part in (of if isinstance(of, list) else [of])]
        else:
            turns.append({role: body})
    if not turns:
        return {"turns": [{"user": "\n\n".join(system)}]}
    if "model" in turns[-1]:
        sys.exit("the chat ends with a message of the assistant, and the user has the last one")
    return {"turns": turns, **({"system": "\n\n".join(system)} if system else {})}


def plain(result):
    """Returns a prompt that is no chat. promptfoo fills in the texts of JSON one by one."""
    text = result if isinstance(result, str) else json.dumps(result)
    try:
        value = json.loads(text)
    except ValueError:
        return rendered(text)
    return json.dumps(filled(value), indent=2, ensure_ascii=False)


def filled(value):
    if isinstance(value, dict):
        return {key: filled(item) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item) for item in value]
    return rendered(value) if isinstance(value, str) else value


def is_chat(value):
    return isinstance(value, list) and value and all(isinstance(m, dict) and "role" in m and "content" in m for m in value)


result, tools = made(), []
if isinstance(result, dict) and "prompt" in result:
    for name, value in (target.get("chat") and result.get("config") or {}).items():  # applications have no settings
        if name != "tools":
            sys.exit(f"the function sets `{name}`, a setting of the provider, which belongs to a target here")
        tools = [{k: v for k, v in tool["function"].items() if k in ("name", "description", "parameters")} for tool in value]
    result = result["prompt"]
messages = result
if isinstance(result, str) and target.get("chat"):
    if result.lstrip().startswith("- role:"):
        sys.exit("the function returns a chat in YAML; return the list itself")
    try:
        messages = json.loads(result)
    except ValueError:
        pass
if is_chat(messages) and target.get("chat"):
    prompt = chat(messages)
else:
    prompt = {"turns": [{"user": plain(result)}]}
json.dump({**prompt, **({"tools": tools} if tools else {})}, stdout)
