# awk, sed, sort, cut, tr, join, comm, uniq, paste and others.
printf 'b 2\na 10\nc 1\na 3\n' >t
sort -k1,1 -k2n t; sort -u -k1,1 t; sort -t' ' -k2 -rn t | head -2
awk '{ s[$1] += $2 } END { for (k in s) print k, s[k] }' t | sort
awk -F' ' -v x=5 'NR > 1 && $2 > x { printf "%s %.2f %s\n", $1, $2 / 3, toupper($1) } END { print NR, length("é"), substr("日本", 2), strftime("%Y", 0, 1) }' t
sed -n '2,3p; s/a/A/gw changed' t; sed -E 's/([a-z]) ([0-9]+)/\2-\1/; $d' t; sed -i.bak '1i top' t; head -1 t
cut -d' ' -f2 t; tr -s 'a-c' 'x' <t | uniq -c; tac t; nl t; paste -sd+ t.bak; fold -w 3 t.bak | tail -2
comm <(printf 'a\nb\n') <(printf 'b\nc\n'); join <(printf '1 x\n2 y\n') <(printf '2 z\n')
grep -nE '^a|2$' t; grep -o '[0-9]*' t | wc -l; grep -P '\d{2}' t; grep -rl top .
seq -w 8 11 | xargs -n2 echo; printf '%s\0' 'a b' c | xargs -0 -I{} echo '<{}>'
expr 3 + 4; bc <<<'scale=3; sqrt(2)'; date -u -d @0 +%F; date -d '2024-02-29 +1 year' +%F
echo '{"a":[1,{"b":"é"}]}' | jq -c '.a[1].b, (.a|length), keys'; jq . <<<'{bad' ; echo "jq $?"
factor 5040; numfmt --to=iec 123456789; basename /a/b.c .c; realpath -m ../x; printf 'é' | od -c; md5sum t | cut -c1-8; base64 <<<text; tsort <<<'a b b c'
