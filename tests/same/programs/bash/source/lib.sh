#!/bin/bash
sourced="lib ${BASH_SOURCE##*/} $#"
echo "$0: $sourced: ${FUNCNAME[0]-} $*"
return 4 2>/dev/null
