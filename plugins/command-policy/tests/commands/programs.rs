//! Which program a command is, and what that runs.

use crate::Is::{Allowed, Denied, Open, Perhaps, Unclear};
use crate::check;

#[test]
fn a_program_is_known_by_its_name() {
    check(&[
        ("/bin/rm y", Denied),
        ("../bin/rm y", Denied),
        ("~/bin/rm y", Denied),
        ("\"$HOME\"/bin/rm y", Denied),
        ("$HOME/bin/rm y", Unclear),
        ("/usr/bin/ls", Allowed),
        ("./ls", Open),
        ("/tmp/ls", Open),
        ("\"$HOME\"/ls", Open),
    ]);
}

#[test]
fn assignments_and_redirections_before_a_command_hide_nothing() {
    check(&[
        ("A=1 rm y", Denied),
        ("A=1 B='x y' rm y", Denied),
        ("A=$x rm y", Denied),
        ("A+=1 rm y", Denied),
        ("a[1]=2 rm y", Denied),
        ("a[ 1 ]=2 rm y", Unclear),
        ("A=(1 2) rm y", Denied),
        ("A\\\n=1 rm y", Denied),
        (">out/x rm y", Denied),
        ("2>&1 rm y", Denied),
        ("<in rm y", Denied),
        ("{fd}>out/x rm y", Denied),
        ("&>out/x rm y", Denied),
        ("A=1 ls", Allowed),
        ("A=2 ls", Open),
        ("PATH=/tmp ls", Open),
        ("A=1", Open),
    ]);
}

#[test]
fn a_redirection_to_a_file_is_a_command() {
    check(&[
        ("ls > out/x", Allowed),
        ("ls >>out/x", Allowed),
        ("ls &> out/x", Allowed),
        ("ls > /etc/passwd", Open),
        ("ls >| x", Open),
        ("ls >& x", Open),
        ("{ ls; } > x", Open),
        ("if true; then ls; fi > x", Open),
        ("cat < x", Open),
        ("ls > /dev/null 2>&1", Allowed),
        ("ls 2>&- >&2", Allowed),
        ("ls > \"$X\"", Open),
        ("ls > out/$X", Open),
        ("ls > out/\"$X\"", Allowed),
        ("ls > out/$(rm y)", Denied),
    ]);
}

#[test]
fn wrappers_are_looked_through() {
    check(&[
        ("sudo rm y", Denied),
        ("sudo -u bob -n rm y", Denied),
        ("sudo -ubob rm y", Denied),
        ("sudo --user=bob -- rm y", Denied),
        ("sudo --user bob A=1 rm y", Denied),
        ("sudo --colour red rm y", Unclear),
        ("sudo $OPTIONS rm y", Unclear),
        ("sudo -l rm y", Open),
        ("sudo -s", Unclear),
        ("doas -u bob rm y", Denied),
        ("env rm y", Denied),
        ("env -i -u HOME A=1 B=2 rm y", Denied),
        ("env - rm y", Denied),
        ("env -S 'rm y'", Unclear),
        ("nice -n 5 rm y", Denied),
        ("nice -5 rm y", Denied),
        ("nohup rm y &", Denied),
        ("setsid -f rm y", Denied),
        ("\\time -f %e rm y", Denied),
        ("exec -a ls rm y", Denied),
        ("command -p rm y", Denied),
        ("command -v rm", Open),
        ("builtin command rm y", Denied),
        ("timeout 5 rm y", Denied),
        ("timeout -k 1 --signal KILL 5 rm y", Denied),
        ("timeout 5 ls", Allowed),
        ("timeout 5 make", Open),
        ("stdbuf -oL rm y", Denied),
        ("ionice -c 3 rm y", Denied),
        ("chroot / rm y", Denied),
        ("busybox rm y", Denied),
        ("watch -n 1 'ls; rm y'", Denied),
        ("ls | xargs rm", Denied),
        ("ls | xargs git push", Perhaps),
        ("xargs -I{} git push origin {}", Perhaps),
        ("xargs -0 -n 1 -P4 rm -f", Denied),
        ("xargs -I{} rm {}", Denied),
        ("xargs -I X X y", Unclear),
        ("xargs -i sh -c 'rm {}'", Denied),
        ("sudo nice timeout 5 env A=1 rm y", Denied),
        ("find . -exec rm {} \\;", Denied),
        ("find . -type f -execdir rm {} +", Denied),
        ("find . -exec ls {} ';' -ok rm {} ';'", Denied),
        ("find . -name rm", Open),
        ("find . $ARGS", Unclear),
        ("find . -exec {} \\;", Unclear),
    ]);
}

#[test]
fn texts_for_other_shells_are_read() {
    check(&[
        ("sh -c 'rm y'", Denied),
        ("bash -lc 'ls && rm y'", Denied),
        ("bash -l -c 'rm y'", Denied),
        ("bash -o pipefail -ec 'rm y'", Denied),
        ("bash -c -e 'rm y'", Denied),
        ("bash --norc -c \"rm y\"", Denied),
        ("/bin/sh -c \"sh -c 'rm y'\"", Denied),
        ("sh -c \"rm $x\"", Denied),
        ("sh -c \"ls $x\"", Unclear),
        ("sh -c 'ls'", Open),
        ("sh script.sh", Open),
        ("sh \"$script\"", Unclear),
        ("bash <(ls)", Unclear),
        ("echo 'rm y' | sh", Unclear),
        ("cat x | bash -s a", Unclear),
        ("fish -c 'rm y'", Unclear),
        ("eval 'rm y'", Denied),
        ("eval -- rm y", Denied),
        ("eval r''m y", Denied),
        ("eval \"$x\"", Unclear),
        ("source <(ls)", Unclear),
        (". ./env.sh", Open),
        ("trap 'rm y' EXIT", Denied),
        ("trap - EXIT", Open),
        ("alias x='rm y'", Denied),
        ("su -c 'rm y' bob", Denied),
        ("su bob", Unclear),
    ]);
}
