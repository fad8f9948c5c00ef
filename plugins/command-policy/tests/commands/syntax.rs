//! Where commands stand in a text.

use crate::Is::{Allowed, Asked, Denied, Open, Unclear};
use crate::check;

#[test]
fn every_command_of_a_list_counts() {
    check(&[
        ("rm y", Denied),
        ("ls", Allowed),
        ("make", Open),
        ("cd x && rm y", Denied),
        ("ls || rm y", Denied),
        ("ls; rm y", Denied),
        ("ls | rm y", Denied),
        ("ls |& rm y", Denied),
        ("ls & rm y", Denied),
        ("ls\nrm y", Denied),
        ("ls;rm y;", Denied),
        ("cd x&&rm y", Denied),
        ("ls && echo hi", Allowed),
        ("ls && make", Open),
        ("make | ls", Open),
        ("mv a b && make", Asked),
        ("mv a b && rm y", Denied),
        ("rm y && mv a b", Denied),
        ("! rm y", Denied),
        ("", Open),
        ("# rm y", Open),
        ("ls # ; rm y", Allowed),
        ("ls #\nrm y", Denied),
        ("ls a#b; rm y", Denied),
        ("echo rm y", Allowed),
        ("echo '; rm y'", Allowed),
        ("echo \"&& rm y\"", Allowed),
        ("echo \\; rm y", Allowed),
        ("rmdir y", Open),
    ]);
}

#[test]
fn quoting_and_joined_lines_hide_nothing() {
    check(&[
        (r"r\m y", Denied),
        (r"\rm y", Denied),
        (r#""r"m y"#, Denied),
        ("'rm' y", Denied),
        ("r''m y", Denied),
        (r#"r""m y"#, Denied),
        ("$'rm' y", Denied),
        (r"$'\x72m' y", Denied),
        (r"$'\162\155' y", Denied),
        (r"$'r\u006d' y", Denied),
        (r"$'r\cm' y", Unclear),
        ("$\"rm\" y", Denied),
        ("r\\\nm y", Denied),
        ("rm\\\n y", Denied),
        ("ls \\\n; rm y", Denied),
        ("ls &\\\n& rm y", Denied),
        ("ls \\\nrm y", Allowed),
        (r"echo $'a\'; rm y'", Allowed),
        (r"echo 'a\'; rm y", Denied),
        (r#"echo "a\"; rm y""#, Allowed),
        ("'rm y'", Open),
    ]);
}

#[test]
fn substitutions_are_looked_into() {
    check(&[
        ("echo $(rm y)", Denied),
        ("echo \"$(rm y)\"", Denied),
        ("echo `rm y`", Denied),
        ("echo \"a `rm y` b\"", Denied),
        (r"echo `echo \`rm y\``", Denied),
        ("echo $(echo $(rm y))", Denied),
        ("echo \"$(echo \"$(rm y)\")\"", Denied),
        ("echo \"$\\\n(rm y)\"", Denied),
        ("echo '$(rm y)'", Allowed),
        (r#"echo "\$(rm y)""#, Allowed),
        ("cat <(rm y)", Denied),
        ("echo >(rm y)", Denied),
        ("echo ${x:-$(rm y)}", Denied),
        ("echo \"${x:-`rm y`}\"", Denied),
        ("echo ${x[$(rm y)]}", Denied),
        ("echo ${ rm y; }", Denied),
        ("echo $((1 + $(rm y)))", Denied),
        ("echo $(( (1 + 2) * 3 )) $[ x[1] + 1 ]", Allowed),
        ("echo $[1 + $(rm y)]", Denied),
        ("(( x = $(rm y) ))", Denied),
        ("A=$(rm y)", Denied),
        ("A=(1 $(rm y))", Denied),
        ("a[$(rm y)]=1", Denied),
        ("[[ -f $(rm y) ]]", Denied),
        ("echo $(ls) $x \"$y\" $((1 + 2)) ${z:-0}", Allowed),
        ("echo $(make)", Open),
        ("echo ${x@P}", Unclear),
        ("echo \"${x:-'}\"; rm y; echo \"'}\"", Unclear),
    ]);
}

#[test]
fn compound_commands_are_looked_into() {
    check(&[
        ("(rm y)", Denied),
        ("( ls; (rm y) )", Denied),
        ("{ rm y; }", Denied),
        ("if true; then rm y; fi", Denied),
        ("if rm y; then ls; fi", Denied),
        ("if ls; then ls; elif rm y; then ls; else ls; fi", Denied),
        ("if ls; then ls; else rm y; fi", Denied),
        ("if ls\nthen ls\nelse\n\n ls; fi", Allowed),
        ("while rm y; do ls; done", Denied),
        ("until ls; do rm y; done", Denied),
        ("for x in a b; do rm $x; done", Denied),
        ("for x in $(rm y); do ls; done", Denied),
        ("for x\ndo rm y; done", Denied),
        ("for ((i = 0; i < 3; i++)); do rm y; done", Denied),
        ("for x in rm y; do ls; done", Allowed),
        ("select x in a; do rm y; done", Denied),
        ("case x in a) rm y;; esac", Denied),
        ("case $(rm y) in a) ls;; esac", Denied),
        ("case x in\n(a | b) ls ;;\n*) rm y\nesac", Denied),
        ("case x in rm) ls;& mv) ls;; esac", Allowed),
        ("[[ a == b && rm == y ]] && ls", Allowed),
        ("[[ a =~ ^(x|y)$ ]] || rm y", Denied),
        ("f() { rm y; }", Denied),
        ("f () ( rm y ); f", Denied),
        ("function f { rm y; }; f", Denied),
        ("ls() { make; }; ls", Open),
        ("coproc rm y", Denied),
        ("time rm y", Denied),
        ("time -p rm y", Denied),
        ("ls; }; rm y", Unclear),
        ("echo if; rm y; fi", Denied),
    ]);
}

#[test]
fn here_documents_are_text_but_for_what_is_expanded_in_them() {
    check(&[
        ("cat <<E\nrm y\nE", Allowed),
        ("cat <<E\nrm y\nE\nrm y", Denied),
        ("cat <<E; rm y\ntext\nE", Denied),
        ("cat <<E\n$(rm y)\nE", Denied),
        ("cat <<E\n`rm y`\nE", Denied),
        ("cat <<'E'\n$(rm y)\nE", Allowed),
        ("cat <<\\E\n$(rm y)\nE", Allowed),
        ("cat <<-E\n\ttext\n\tE\nrm y", Denied),
        ("cat <<E\n\tE\nrm y\nE", Allowed),
        ("cat <<E <<F\n1\nE\n2\nF\nrm y", Denied),
        ("cat <<E\na\\\nE\nrm y\nE", Allowed),
        ("cat <<E\nit's \"\nE\nrm y", Denied),
        ("cat <<E\nrm y", Unclear),
        ("cat <<E", Unclear),
        ("cat <<< 'rm y'", Allowed),
        ("cat <<< $(rm y)", Denied),
        ("echo \"$(cat <<E\nrm y )\nE\n)\"", Allowed),
        ("sh <<E\nrm y\nE", Denied),
        ("bash -s <<'E'\nls; rm y\nE", Denied),
        ("bash <<E\n$x\nE", Unclear),
        ("bash <<E\nls `ls`\nE", Unclear),
        ("cat <<E $(ls\n)\nrm y\nE", Unclear),
        ("bash <<< 'rm y'", Denied),
        ("bash <<< \"$x\"", Unclear),
    ]);
}
