# find, xargs, tar, zip, links, modes and sizes.
mkdir -p tree/{a,b}/c 'tree/with space'; echo 1 >tree/a/1.txt; echo 22 >tree/b/2.txt; : >'tree/with space/e.md'; ln -s ../a tree/b/link
find tree -type f -name '*.txt' -size -5c | sort; find tree -type l -printf '%p -> %l\n'; find tree -empty | sort
find tree -type f -print0 | xargs -0 wc -c | tail -1; find tree -maxdepth 1 -mindepth 1 -exec basename {} \; | sort; find tree -name c -prune -o -type d -print | sort
chmod 640 tree/a/1.txt; stat -c '%A %U %G %s %n' tree/a/1.txt; ls -l tree/a/1.txt | cut -c1-10; du -b tree/a/1.txt; [ -x tree/a/1.txt ]; echo $?
tar czf t.tgz tree && tar tzf t.tgz | sort | head -4; rm -r tree; tar xzf t.tgz && cat tree/b/2.txt tree/b/link/1.txt; rm t.tgz
(cd tree && zip -qr ../t.zip . && unzip -l ../t.zip | awk 'END { print $2 }'); rm t.zip; cp -r tree copy; diff -r tree copy; echo "$?"; mv copy moved; rm -rf moved
ls nothing; rm nothing; rmdir tree; mkdir tree; cp nothing x; mv nothing x; ln -s a b; ln b c; cat tree; touch -d @0 old; find . -name old ! -newer code.sh; readlink -f b; file -b code.sh
gzip -k code.sh && zcat code.sh.gz | head -1; rm code.sh.gz; xz -c code.sh | xz -dc | cmp - code.sh && bzip2 -c code.sh | bzip2 -dc | cmp - code.sh
truncate -s 1M big; stat -c %s big; dd if=/dev/zero of=zero bs=1k count=3 2>&1 | tail -1 | cut -c1-10; split -l 2 code.sh part.; ls part.* | wc -l; rm part.* big zero old b c
