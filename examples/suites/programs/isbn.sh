#!/bin/sh
# Is the check digit of the ISBN-13 in the answer right? The answer stands first in the object on standard input, so that no JSON
# parser is needed; what is no digit does not matter here.
set -eu
LC_ALL=C sed -n '1s/^{"version":1,"answer":"\(\([^"\\]\|\\.\)*\)".*/\1/p' | LC_ALL=C awk '
  {
    gsub(/\\u[0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F]/, ""); gsub(/[^0-9]/, "")
    digits = $0
  }
  END {
    n = length(digits)
    if (n != 13) {
      printf "{\"score\": false, \"reason\": \"13 digits are expected, %d came\"}\n", n
      exit
    }
    for (i = 1; i < 13; i++) sum += substr(digits, i, 1) * (i % 2 ? 1 : 3)
    check = (10 - sum % 10) % 10
    if (substr(digits, 13) == check) print "{\"score\": true, \"reason\": \"the check digit is right\"}"
    else printf "{\"score\": false, \"reason\": \"the check digit is %s, it should be %d\"}\n", substr(digits, 13), check
  }'
