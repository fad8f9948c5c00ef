//! The commands that a command runs: behind a wrapper, in a text for another shell.

use super::wrapper::{self, Wrapper};
use super::{Command, HOLE, Reading, Word, read_text, too_deep};

/// Shells that read texts as bash does, as far as the reader goes.
const SHELLS: [&str; 9] = ["ash", "bash", "dash", "ksh", "mksh", "rbash", "sh", "yash", "zsh"];

/// Shells with a language of their own.
const OTHER_SHELLS: [&str; 6] = ["csh", "elvish", "fish", "nu", "pwsh", "tcsh"];

/// Notes a command, and those that it runs. Says whether one of them is a shell that takes its
/// commands from its input.
pub(super) fn note(command: Command, depth: usize, reading: &mut Reading) -> bool {
    let Some((program, arguments)) = command.words[command.assignments..].split_first() else {
        reading.commands.push(command);
        return false;
    };
    let name = program_name(&program.value).to_owned();
    if program.splits || name.contains(HOLE) {
        reading.doubt(format!("what `{}` runs is known only then", command.shown()));
        reading.commands.push(command);
        return false;
    }
    let arguments = arguments.to_vec();
    reading.commands.push(command);
    if depth >= super::DEEPEST {
        reading.doubt(too_deep().0);
        return false;
    }
    let mut inside = Inside { depth: depth + 1, reading };
    match name.as_str() {
        "eval" => inside.text_of(operands(&arguments)),
        "source" | "." => inside.file(operands(&arguments).first()),
        "alias" => inside.aliases(&arguments),
        "trap" => inside.trap(operands(&arguments)),
        "find" => inside.find(&arguments),
        "su" => return inside.su(&arguments),
        shell if SHELLS.contains(&shell) => return inside.shell(&arguments),
        other if OTHER_SHELLS.contains(&other) => {
            inside.reading.doubt(format!("the language of `{other}` is not known"));
        }
        other => {
            let wrapper = wrapper::named(other);
            return wrapper.is_some_and(|it| inside.wrapped(&name, it, &arguments));
        }
    }
    false
}

/// The last part of a path.
pub(crate) fn program_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |it| it.1)
}

/// The words of a builtin without the `--` before its operands.
fn operands(words: &[Word]) -> &[Word] {
    match words {
        [dashes, operands @ ..] if dashes.value == "--" => operands,
        _ => words,
    }
}

/// Where what a command runs is noted.
struct Inside<'a> {
    depth: usize,
    reading: &'a mut Reading,
}

impl Inside<'_> {
    /// Reads what a shell is given as a text. What is certain in it counts, whatever its holes are.
    fn text(&mut self, text: &str) {
        if text.contains(HOLE) {
            self.reading.doubt("a shell runs a text that is expanded first");
        }
        read_text(text, self.depth, self.reading);
    }

    fn text_of(&mut self, words: &[Word]) {
        let words: Vec<&str> = words.iter().map(|it| it.value.as_str()).collect();
        self.text(&words.join(" "));
    }

    /// Sees that a file with commands can be named.
    fn file(&mut self, file: Option<&Word>) {
        let is_input = |it: &str| {
            it == "-"
                || it == "/dev/stdin"
                || it.starts_with("/dev/fd/")
                || it.starts_with("/proc/")
        };
        if file.is_some_and(|it| !it.is_known() || is_input(&it.value)) {
            self.reading.doubt("a shell runs a file that is known only then");
        }
    }

    fn aliases(&mut self, words: &[Word]) {
        for (_, text) in words.iter().filter_map(|it| it.value.split_once('=')) {
            self.text(text);
        }
    }

    fn trap(&mut self, words: &[Word]) {
        if let Some(text) = words.first().filter(|it| !it.value.starts_with('-')) {
            self.text(&text.value);
        }
    }

    /// Notes what `-exec` and its like run, up to the `;` or the `+`.
    fn find(&mut self, words: &[Word]) {
        if words.iter().any(|it| it.splits) {
            self.reading.doubt("a word of `find` that is not quoted may hold an action");
        }
        let begins =
            |it: &Word| ["-exec", "-execdir", "-ok", "-okdir"].contains(&it.value.as_str());
        let mut rest = words;
        while let Some(at) = rest.iter().position(begins) {
            rest = &rest[at + 1..];
            let ends = |it: &Word| it.value == ";" || it.value == "+";
            let end = rest.iter().position(ends).unwrap_or(rest.len());
            let words = rest[..end].iter().map(|it| replaced(it, "{}")).collect();
            note(Command { words, assignments: 0 }, self.depth, self.reading);
            rest = &rest[end..];
        }
    }

    fn su(&mut self, words: &[Word]) -> bool {
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let attached = word.value.strip_prefix("--command=").or_else(|| {
                let short = word.value.strip_prefix("-c");
                short.filter(|it| !it.is_empty())
            });
            let text = match word.value.as_str() {
                "-c" | "--command" => words.next().map(|it| it.value.as_str()),
                _ => attached,
            };
            if let Some(text) = text {
                self.text(text);
                return false;
            }
        }
        true
    }

    fn shell(&mut self, words: &[Word]) -> bool {
        let (mut takes_text, mut takes_input) = (false, false);
        let mut words = words.iter();
        let mut operand = None;
        while let Some(word) = words.next() {
            let value = word.value.as_str();
            if word.splits {
                self.reading.doubt(format!("what `{}` tells a shell is known only then", word.raw));
            }
            match value {
                "--" | "-" => {
                    operand = words.next();
                    break;
                }
                "--help" | "--version" => return false,
                "--rcfile" | "--init-file" => drop(words.next()),
                _ if value.starts_with("--") => {}
                _ if value.len() > 1 && value.starts_with(['-', '+']) => {
                    takes_text |= value.contains('c');
                    takes_input |= value.contains('s');
                    for _ in value.matches(['o', 'O']) {
                        words.next();
                    }
                }
                _ => {
                    operand = Some(word);
                    break;
                }
            }
        }
        match operand {
            Some(text) if takes_text => self.text(&text.value),
            Some(_) if takes_input => return true,
            Some(file) => self.file(Some(file)),
            None => return true,
        }
        false
    }

    /// Notes what stands behind a wrapper.
    fn wrapped(&mut self, name: &str, wrapper: &Wrapper, words: &[Word]) -> bool {
        let found = match wrapper::unwrap(wrapper, words) {
            Ok(found) => found,
            Err(word) => {
                let message =
                    format!("where `{name}` begins its command behind `{}` is open", word.raw);
                self.reading.doubt(message);
                return false;
            }
        };
        if found.command.is_empty() {
            let is_shell = found.has(&["i", "login", "s", "shell"]);
            return is_shell && ["sudo", "doas"].contains(&name);
        }
        if name == "watch" && !found.has(&["x", "exec"]) {
            self.text_of(found.command);
            return false;
        }
        let mut words = found.command.to_vec();
        if name == "xargs" {
            let replaces = |it: &&(String, _)| ["I", "i", "replace"].contains(&it.0.as_str());
            match found.options.iter().rfind(replaces) {
                Some((_, text)) => {
                    let text = text.as_deref().unwrap_or("{}");
                    words = words.iter().map(|it| replaced(it, text)).collect();
                }
                None => words.push(Word::unknown("…")),
            }
        }
        let assigns = |it: &&Word| wrapper.assigns && !it.splits && it.value.contains('=');
        let assignments = words.iter().take_while(assigns).count();
        note(Command { words, assignments }, self.depth, self.reading)
    }
}

/// A word in which a program puts something in the place of `text`.
fn replaced(word: &Word, text: &str) -> Word {
    Word { value: word.value.replace(text, &HOLE.to_string()), ..word.clone() }
}
