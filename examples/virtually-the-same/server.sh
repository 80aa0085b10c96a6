#!/bin/sh
# What serves in the study: nginx, its configuration, and objects of 500 B, 1 MB and 16 MB in /tmp/virtually-the-same; and the
# same as a root file system for guests, in /tmp/virtually-the-same.guest: this machine's nginx with the libraries that it loads.
#
#     apt install nginx-light; sh examples/virtually-the-same/server.sh

set -eu

here=$(dirname "$0")
site=/tmp/virtually-the-same
guest=$site.guest

nginx=$(command -v nginx) || { echo "nginx is not installed: apt install nginx-light" >&2; exit 1; }

mkdir -p "$site"
cp "$here/nginx.conf" "$site/nginx.conf"
head -c 500 /dev/zero > "$site/500B"
head -c 1000000 /dev/zero > "$site/1MB"
head -c 16000000 /dev/zero > "$site/16MB"

# As Debian has it, /bin, /lib and /lib64 are links into /usr.
rm -rf "$guest"
mkdir -p "$guest/tmp" "$guest/var/log/nginx" "$guest/var/lib/nginx" "$guest/etc"
for directory in bin sbin lib lib64; do
    mkdir -p "$guest/usr/$directory"
    ln -s "usr/$directory" "$guest/$directory"
done
for file in "$nginx" $(ldd "$nginx" | grep -o '/[^ ]*'); do
    mkdir -p "$guest$(dirname "$file")"
    cp -L "$file" "$guest$file"
done
echo 'root:x:0:0::/:/bin/sh' > "$guest/etc/passwd"
echo 'root:x:0:' > "$guest/etc/group"
cp -r "$site" "$guest/tmp/"
du -sh "$site" "$guest"
