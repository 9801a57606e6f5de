# Other files are sourced, with arguments, and run by their first lines.
. ./lib.sh a b
echo "$sourced ${BASH_SOURCE[0]}"
source lib.sh; echo "$?"
bash ./lib.sh direct; sh -c '. ./lib.sh' ; . ./nothing; echo "$?"
chmod +x lib.sh; ./lib.sh run
