//! What globs fit, surely and perhaps.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::{Glob, WordsGlob};
use crate::fit::Fit::{self, Maybe, No, Yes};
use crate::shell::{HOLE, Word};
use crate::view::View;

#[test]
fn a_glob_fits_a_whole_text() {
    check("rm", "rm", true);
    check("rm", "rmdir", false);
    check("rm*", "rmdir", true);
    check("*", "", true);
    check("r?", "rm", true);
    check("r?", "r", false);
    check("*.rs", "src/lib.rs", true);
    check("a*b*c", "abbc", true);
    check("a*b*c", "acb", false);
    check("[a-c]x", "bx", true);
    check("[!a-c]x", "bx", false);
    check("[^a-c]x", "dx", true);
    check("[]]", "]", true);
    check("[!]]", "]", false);
    check("[a-]", "-", true);
    check("[\\]a]", "]", true);
    check("\\*", "*", true);
    check("\\*", "a", false);
    check("é?", "éü", true);

    #[track_caller]
    fn check(glob: &str, text: &str, expected: bool) {
        assert_eq!(Glob::new(glob).unwrap().is_match(text), expected);
    }
}

#[test]
fn a_glob_for_words_fits_the_first_ones() {
    check("git push", "git push", Yes);
    check("git push", "git push origin", Yes);
    check("git push", "git", No);
    check("git push", "git pull push", No);
    check("git * --force", "git --force", Yes);
    check("git * --force", "git push a b --force c", Yes);
    check("git * --force", "git push a b", No);
    check("git *", "git", Yes);
    check("*", "", Yes);
    check("git p*", "git push x", Yes);
    check("git p*", "git x push", No);
}

#[test]
fn a_hole_fits_surely_what_takes_everything_and_perhaps_the_rest() {
    check("rm *", "rm _", Yes);
    check("rm a*", "rm a_", Yes);
    check("rm a*", "rm _", Maybe);
    check("rm a*", "rm b_", No);
    check("rm a?", "rm a_", Maybe);
    check("rm [!b]", "rm _", Maybe);
    check("rm ab", "rm a_", Maybe);
    check("rm ab c", "rm _ c", Maybe);
    check("rm ab c", "rm _ d", No);
    // Split, it may be any number of words.
    check("rm -f", "rm _+", Maybe);
    check("rm -f", "rm _+ -f", Maybe);
    check("rm * -f", "rm _+ -f", Yes);
    check("rm -f x", "rm _+ y", Maybe);
    check("rm -f x", "mv _+ y", No);
    check("rm", "rm _+", Yes);
}

/// Words as a reader makes them: `_` is a hole, and `+` behind a word says that it splits.
fn words(text: &str) -> Vec<Word> {
    let word = |it: &str| {
        let value = it.trim_end_matches('+');
        let splits = value != it;
        Word { splits, ..Word::literal(&value.replace('_', &HOLE.to_string())) }
    };
    text.split_whitespace().map(word).collect()
}

fn fit(glob: &WordsGlob, words: &[Word]) -> Fit {
    glob.fit(&words.iter().map(View::from).collect::<Vec<_>>())
}

#[track_caller]
fn check(glob: &str, text: &str, expected: Fit) {
    assert_eq!(fit(&WordsGlob::new(glob).unwrap(), &words(text)), expected);
}

/// A text from a few characters, so that globs and texts often meet.
fn text(characters: &'static str, most: usize) -> impl Strategy<Value = String> {
    let characters = characters.chars().collect::<Vec<_>>();
    vec(select(characters), 0..most).prop_map(String::from_iter)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5_000, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_hole_stands_for_the_fit_holds(
        glob in text("ab*? ", 10), text_with_holes in text("ab_ ", 8), part in text("ab", 3),
        split in text("ab ", 4),
    ) {
        let Ok(glob) = WordsGlob::new(&glob) else { return Ok(()) };
        let one = words(&text_with_holes);
        let several: Vec<Word> = one
            .iter()
            .map(|it| Word { splits: it.value.contains(HOLE), ..it.clone() })
            .collect();
        // A word that is all hole and stands for nothing is still a word, unless it splits.
        let known = |part: &str| -> Vec<Word> {
            let put = |it: &Word| Word::literal(&it.value.replace(HOLE, part));
            one.iter().map(put).collect()
        };
        let certain = [(&one, known(&part)), (&several, words(&text_with_holes.replace('_', &split)))];
        for (unknown, known) in certain {
            match (fit(&glob, unknown), fit(&glob, &known)) {
                (Yes, it) => prop_assert_eq!(it, Yes),
                (No, it) => prop_assert_eq!(it, No),
                (Maybe, _) => {}
            }
        }
    }
}
