# One stream goes to several filters that write files.
seq 1 2000 | tee >(wc -l > count.txt) >(sort -rn | head -1 > max.txt) > all.txt
echo counted
