#!/bin/sh
# Plays the tool that tracks parcels: the arguments come as JSON on standard input, and what is written is the result.
id=$(sed -n 's/.*"id" *: *"\([^"]*\)".*/\1/p')
case "$id" in
  A*) printf '{"id": "%s", "place": "Olten"}\n' "$id" ;;
  *)
    echo "no parcel of order $id" >&2
    exit 1
    ;;
esac
