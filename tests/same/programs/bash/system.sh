# A script may not change the system, and is told so as any user is.
touch /etc/x /usr/bin/x /var/log/x; mkdir /opt/app; rm /etc/passwd; rm -f /etc/nothing; echo "rm -f $?"; rm -rf /opt/none; echo $?
mv /etc/hosts /tmp/; cp code.sh /usr/local/bin/; chmod 777 /etc/passwd; ln -s x /etc/l; : >>/var/log/app.log; echo "append $?"
cat /etc/shadow; ls /root; kill 1; chroot . true; hostname new 2>&1 | wc -l
id; whoami; groups; [ -w /etc ] || echo "not writable"; [ -w / ] || echo "nor is /"; test -w /etc/passwd || echo "nor passwd"
echo ${TMPDIR-none} $(dirname "$(mktemp)"); ls -ld /tmp /var/tmp/ /dev/shm | cut -c1-10; uname -s; getent hosts localhost | awk '{ print $2 }'; getent services http; getent passwd user
