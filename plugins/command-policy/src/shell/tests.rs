//! What holds for every text, however it is written.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::{HOLE, Reading, read, read_words};

/// What texts are made of that a shell means something by.
const FRAGMENTS: [&str; 56] = [
    "rm", "ls", "x", "1", " ", "\n", "\t", ";", ";;", "&", "&&", "|", "||", "!", "#", "'", "\"",
    "\\", "`", "$", "$(", "$((", "${", "$'", "$\"", "$[", "(", ")", "((", "))", "{", "}", "[[",
    "]]", "[", "]", "<", ">", "<<E\n", "E\n", "<<<", "<(", "if ", "then ", "fi", "for ", "in ",
    "do ", "done", "case ", "esac", "A=", "eval ", "sh -c ", "sudo -u ", "xargs ",
];

/// One way to write a character so that a shell means nothing by it.
#[derive(Debug, Clone, Copy)]
enum Quoting {
    Bare,
    Backslash,
    Single,
    Double,
    Ansi,
    AnsiNumber,
}

fn quoted(c: char, quoting: Quoting) -> String {
    match quoting {
        Quoting::Bare if c.is_ascii_alphanumeric() => c.to_string(),
        Quoting::Bare | Quoting::Backslash => format!("\\{c}"),
        Quoting::Single if c == '\'' => "\"'\"".into(),
        Quoting::Single => format!("'{c}'"),
        Quoting::Double if "$`\"\\".contains(c) => format!("\"\\{c}\""),
        Quoting::Double => format!("\"{c}\""),
        Quoting::Ansi if "'\\".contains(c) => format!("$'\\{c}'"),
        Quoting::Ansi => format!("$'{c}'"),
        Quoting::AnsiNumber => format!("$'\\U{:08x}'", u32::from(c)),
    }
}

fn quotings() -> impl Strategy<Value = Quoting> {
    select(vec![
        Quoting::Bare,
        Quoting::Backslash,
        Quoting::Single,
        Quoting::Double,
        Quoting::Ansi,
        Quoting::AnsiNumber,
    ])
}

/// A character of a word. A newline cannot be written behind a backslash, and a hole is no text.
fn characters() -> impl Strategy<Value = char> {
    let any = any::<char>().prop_filter("no text", |it| !['\0', '\n', HOLE].contains(it));
    prop_oneof![select(" \t;&|()<>{}[]*?!#~$`'\"\\=-,.^rm".chars().collect::<Vec<_>>()), any]
}

fn words() -> impl Strategy<Value = Vec<Vec<(char, Quoting)>>> {
    vec(vec((characters(), quotings()), 1..6), 1..4)
}

/// The words without quoting, and whether anything is doubtful.
fn values(reading: &Reading) -> (Vec<Vec<&str>>, Option<&str>) {
    let values = reading.commands.iter().map(|it| it.words.iter().map(|it| &*it.value).collect());
    (values.collect(), reading.doubt.as_deref())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn every_text_can_be_tried(text in any::<String>()) {
        read(&text);
    }

    #[test]
    fn every_text_of_shell_words_can_be_tried(text in vec(select(&FRAGMENTS[..]), 0..40)) {
        read(&text.concat());
    }

    #[test]
    fn a_word_is_the_same_however_it_is_quoted(words in words()) {
        let plain: Vec<String> =
            words.iter().map(|it| it.iter().map(|(c, _)| *c).collect()).collect();
        let text = |it: &Vec<(char, Quoting)>| -> String {
            // Quoted at its beginning, so that no word is a reserved one or an assignment.
            let quoted = it.iter().map(|(c, quoting)| quoted(*c, *quoting));
            "''".to_owned() + &quoted.collect::<String>()
        };
        let text = words.iter().map(text).collect::<Vec<_>>().join(" ");
        let expected = read_words(plain.iter().map(String::as_str));
        let reading = read(&text);
        prop_assert_eq!(values(&reading), values(&expected));
    }

    #[test]
    fn a_command_is_found_behind_every_text_that_can_be_read(
        text in vec(select(&FRAGMENTS[..]), 0..20),
    ) {
        let text = text.concat();
        let is_complete = read(&text).doubt.is_none() && !text.contains(['#', '\\']);
        if is_complete {
            let reading = read(&format!("{text}\nmarked"));
            let (commands, doubt) = values(&reading);
            prop_assert!(doubt.is_some() || commands.contains(&vec!["marked"]), "{:?}", commands);
        }
    }
}
