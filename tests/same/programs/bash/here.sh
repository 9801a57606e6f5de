# Here-documents and here-strings, with and without expansion.
x=value
cat <<EOF
x is $x, $((1 + 1)), $(echo command), \$x
EOF
cat <<'EOF'
x is $x
EOF
cat <<-EOF
	tabs are gone
EOF
read -r a b <<<"one two three"; echo "$b"
tr a-z A-Z <<<"$x"
while read -r line; do echo "[$line]"; done <<EOF
first

last
EOF
bash -s arg <<'EOF'
echo "in bash: $1"
EOF
