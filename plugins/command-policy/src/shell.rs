//! Reads a shell text as bash would, and lists the simple commands in it.
//!
//! Nothing is run or looked up: what a text does that only its run can show is a *doubt*.

mod ansi;
mod command;
mod compound;
mod cursor;
mod expansion;
mod heredoc;
mod inner;
mod redirect;
mod word;
mod wrapper;

use heredoc::HereDoc;

pub(crate) use inner::program_name;
pub(crate) use word::Word;

/// Stands in a word for a part that nobody knows before the text runs.
pub(crate) const HOLE: char = '\u{FFFC}';

/// The bytes of the longest text that is read. Reading has to end within a listener's time.
const LONGEST: usize = 1 << 20;

/// How deep constructs may lie in each other: the reader must not run out of stack.
const DEEPEST: usize = 32;

/// One simple command: a program with its arguments, or a redirection to or from a file, which
/// reads as a program `>` or `<` with the file as its argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Command {
    /// The leading assignments, the program, its arguments.
    pub(crate) words: Vec<Word>,
    /// How many of the words are leading assignments.
    pub(crate) assignments: usize,
}

impl Command {
    /// The command as it was written.
    pub(crate) fn shown(&self) -> String {
        let words: Vec<&str> = self.words.iter().map(|it| it.raw.as_str()).collect();
        words.join(" ").replace(HOLE, "…")
    }
}

/// What was read.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// Every simple command that was found, those behind a doubt too.
    pub(crate) commands: Vec<Command>,
    /// Why there may be others, where there may.
    pub(crate) doubt: Option<String>,
}

impl Reading {
    /// For what is no text.
    pub(crate) fn unreadable(why: &str) -> Self {
        Self { commands: Vec::new(), doubt: Some(why.to_owned()) }
    }

    /// The first doubt is the one to tell.
    fn doubt(&mut self, why: impl Into<String>) {
        self.doubt.get_or_insert_with(|| why.into());
    }
}

/// Why reading cannot go on.
#[derive(Debug)]
struct Stop(String);

impl Stop {
    fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

/// What a step of reading comes to.
type Read<T> = Result<T, Stop>;

/// A text and how far it is read.
struct Reader<'a> {
    chars: Vec<char>,
    at: usize,
    depth: usize,
    /// Here-documents whose bodies begin behind the line.
    awaited: Vec<HereDoc>,
    /// Whether a text around this one awaits such bodies too.
    is_awaited_outside: bool,
    reading: &'a mut Reading,
}

impl<'a> Reader<'a> {
    fn new(text: &str, depth: usize, reading: &'a mut Reading) -> Self {
        Self {
            chars: text.chars().collect(),
            at: 0,
            depth,
            awaited: Vec::new(),
            is_awaited_outside: false,
            reading,
        }
    }

    /// Does `step` one level deeper.
    fn deeper<T>(&mut self, step: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth >= DEEPEST {
            return Err(too_deep());
        }
        self.depth += 1;
        let done = step(self);
        self.depth -= 1;
        done
    }
}

fn too_deep() -> Stop {
    Stop::new(format!("it is nested deeper than {DEEPEST} levels"))
}

/// Reads the text that a shell is given.
pub(crate) fn read(text: &str) -> Reading {
    let mut reading = Reading::default();
    if text.len() > LONGEST {
        reading.doubt(format!("it is longer than {LONGEST} bytes"));
    } else {
        read_text(text, 0, &mut reading);
    }
    reading
}

/// Reads a command that is given as its words, past any shell.
pub(crate) fn read_words<'a>(words: impl IntoIterator<Item = &'a str>) -> Reading {
    let mut reading = Reading::default();
    let words = words.into_iter().map(Word::literal).collect();
    inner::note(Command { words, assignments: 0 }, 0, &mut reading);
    reading
}

/// Reads a text `depth` levels deep. What stops it is a doubt, and what was found is kept: a
/// shell runs the lines before the one that it cannot read.
fn read_text(text: &str, depth: usize, reading: &mut Reading) {
    if text.contains('\0') {
        reading.doubt("there is a NUL in it");
    }
    let mut reader = Reader::new(text, depth, reading);
    let read = reader.list(&[]).and_then(|_| reader.no_more_awaited());
    if let Err(Stop(why)) = read {
        reading.doubt(why);
    }
}

#[cfg(test)]
mod tests;
