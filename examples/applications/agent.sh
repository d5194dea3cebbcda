# An agent under test: `agent.sh --json TASK` edits settings.json in its folder, and prints events.
version=$(printf '%s' "$2" | sed -n 's/.*to \([0-9.]*[0-9]\).*/\1/p')
echo '{"type": "start"}'
echo '{"type": "tool", "name": "write_file", "args": {"path": "settings.json"}}'
sed "s/\"version\": \"[^\"]*\"/\"version\": \"$version\"/" settings.json > new && mv new settings.json
echo "{\"type\": \"result\", \"text\": \"The version is $version.\", \"usage\": {\"inputTokens\": 120, \"outputTokens\": 30}}"
