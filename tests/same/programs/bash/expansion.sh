# Expansions of parameters, braces, numbers, patterns and quotes.
p=/usr/local/lib/libx.so.1.2
echo "${p##*/} ${p%/*} ${p%%.*} ${p#*/} ${#p} ${p:5:5} ${p: -3} ${p/lib/LIB} ${p//l/L}"
echo {a,b}{1..3} {01..10..3} {z..v} pre{x,y}post
echo $((16#ff)) $((2 ** 40)) $((7 % -3)) $((1 ? 2 : 3)) $((x = 5, x++)) $x $((0x10 | 010))
echo "${u-unset}" "${u:-empty}" "${u+set}" "${HOME+set}"; (: "${u:?must be given}"); echo $?
shopt -s extglob nullglob globstar; touch f1.txt f2.md .hidden; mkdir -p d/e; touch d/e/deep.txt
echo *.txt **/*.txt !(*.md|code.sh) [ab]* nothing*
echo $'tab\there \u00e9 \x41' $"text" 'single '\''quote'
v=abc; echo "${v^} ${v^^} ${v@U} ${v@A}"; w='$v'; eval "echo $w"; i=v; echo "${!i}"
printf '%5.2f|%-5s|%05d|%x|%q|%b|%(%Y)T\n' 3.14159 ab 42 255 "a b'" 'x\ty' 0
echo ~ ~root ~+ "$(<f1.txt)" `echo old`
[[ abc123 =~ ^([a-z]+)([0-9]+)$ ]] && echo "${BASH_REMATCH[@]}"
case $v in a*) echo one ;;& *c) echo two ;& x) echo three ;; esac
