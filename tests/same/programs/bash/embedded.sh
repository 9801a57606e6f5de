# A script runs Python, Node and awk with code of its own.
python3 - a b <<'PY'
import sys
print(sys.argv, __name__)
PY
python3 -c 'print(1/0)'; echo "$?"
echo 'console.log([1,2].map((x) => x * 2), process.argv.length); process.exit(3)' | node - a; echo "$?"
python3 --version; awk --version | head -c 7; echo; command -v python perl gcc make git curl wget vi nano npm npx pip pip3 | sort
