read -r name
echo "hello $name, from bash $BASH_VERSION"
echo "this goes to stderr" >&2
