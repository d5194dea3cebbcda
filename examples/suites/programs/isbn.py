#!/usr/bin/env python3
"""Is the check digit of the ISBN-13 in the answer right?"""
import json
import sys

digits = [int(c) for c in json.load(sys.stdin)["answer"] if c in "0123456789"]
check = (10 - sum(d * (3 if i % 2 else 1) for i, d in enumerate(digits[:12])) % 10) % 10
if len(digits) != 13:
    result = {"score": False, "reason": f"13 digits are expected, {len(digits)} came"}
elif digits[12] != check:
    result = {"score": False, "reason": f"the check digit is {digits[12]}, it should be {check}"}
else:
    result = {"score": True, "reason": "the check digit is right"}
json.dump(result, sys.stdout)
