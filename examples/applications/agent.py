"""An agent under test: reads {"prompt": ...} on standard input, writes {"text": ..., "toolCalls": [...]}."""
import json
import re
import sys

ORDERS = {"A17": "shipped", "B42": "delayed"}

asked = re.search(r"[A-Z][0-9]+", json.load(sys.stdin)["prompt"])
if asked is None:
    answer = {"text": "Which order do you mean?"}
else:
    order = asked.group()
    status = ORDERS.get(order)
    answer = {
        "text": f"Order {order} is {status}." if status else f"I know no order {order}.",
        "toolCalls": [{"name": "get_order", "args": {"id": order}}],
    }
json.dump(answer, sys.stdout)
