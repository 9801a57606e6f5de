#!/usr/bin/awk -f
BEGIN { for (i = 1; i <= 3; i++) printf "awk line %d\n", i }
