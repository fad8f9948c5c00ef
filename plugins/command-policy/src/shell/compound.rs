//! Lists of commands, and the commands that hold lists.

use super::cursor::open;
use super::{Read, Reader, Stop};

impl Reader<'_> {
    /// Reads commands up to the one of `ends` that comes first, and takes it; up to the end of the
    /// text where there are none.
    ///
    /// What separates commands is taken wherever it stands: where a shell would refuse it, nothing
    /// runs, so nothing is missed.
    pub(super) fn list(&mut self, ends: &[&'static str]) -> Read<&'static str> {
        self.deeper(|it| it.commands(ends))
    }

    fn commands(&mut self, ends: &[&'static str]) -> Read<&'static str> {
        loop {
            self.blanks();
            let Some(c) = self.peek() else {
                return match ends.last() {
                    None => Ok(""),
                    Some(end) => Err(Stop::new(format!("`{end}` is missing"))),
                };
            };
            match c {
                '\n' => self.newline()?,
                ')' => {
                    self.at += 1;
                    let unexpected = || Stop::new("`)` is unexpected");
                    return ends.iter().find(|it| **it == ")").copied().ok_or_else(unexpected);
                }
                ';' => {
                    let is_end = self.is_at(";;") || self.is_at(";&");
                    match ends.iter().find(|it| is_end && **it == ";;") {
                        Some(end) => {
                            let _ = self.eat(";;&") || self.eat(";;") || self.eat(";&");
                            return Ok(end);
                        }
                        None => self.at += 1,
                    }
                }
                '&' | '|' => self.at += 1,
                '(' if self.eat("((") => {
                    self.deeper(Self::arithmetic)?;
                    self.redirections()?;
                }
                '(' => {
                    self.at += 1;
                    self.list(&[")"])?;
                    self.redirections()?;
                }
                _ => {
                    let (word, behind) = self.plain_word();
                    if let Some(end) = ends.iter().find(|it| **it == word) {
                        self.at = behind;
                        return Ok(end);
                    }
                    self.command(&word, behind)?;
                }
            }
        }
    }

    /// Reads the command that begins with the reserved word `word`, or a simple one.
    fn command(&mut self, word: &str, behind: usize) -> Read<()> {
        let compound: fn(&mut Self) -> Read<()> = match word {
            "!" | "coproc" => {
                self.at = behind;
                return Ok(());
            }
            "time" => Self::time,
            "{" => |it| it.list(&["}"]).map(drop),
            "if" => Self::branches,
            "while" | "until" => |it| {
                it.list(&["do"])?;
                it.list(&["done"]).map(drop)
            },
            "for" | "select" => Self::each,
            "case" => Self::cases,
            "[[" => Self::condition,
            "function" => Self::function,
            "then" | "elif" | "else" | "fi" | "do" | "done" | "esac" | "}" => {
                return Err(Stop::new(format!("`{word}` is unexpected")));
            }
            _ => return self.simple(),
        };
        self.at = behind;
        compound(self)?;
        if !matches!(word, "time" | "function") {
            self.redirections()?;
        }
        Ok(())
    }

    /// Takes the options of the reserved word `time`; a pipeline follows.
    fn time(&mut self) -> Read<()> {
        for option in ["-p", "--"] {
            self.blanks();
            let (word, behind) = self.plain_word();
            if word == option {
                self.at = behind;
            }
        }
        Ok(())
    }

    /// Takes the name of a function; its body follows as a command.
    fn function(&mut self) -> Read<()> {
        self.blanks();
        self.word()?;
        self.blanks();
        if self.eat("(") {
            self.blanks();
            if !self.eat(")") {
                return Err(open("`(`"));
            }
        }
        Ok(())
    }

    fn branches(&mut self) -> Read<()> {
        let mut end = "elif";
        while end == "elif" {
            self.list(&["then"])?;
            end = self.list(&["elif", "else", "fi"])?;
        }
        if end == "else" {
            self.list(&["fi"])?;
        }
        Ok(())
    }

    /// Reads a `for` or a `select` behind that word.
    fn each(&mut self) -> Read<()> {
        self.blanks();
        if self.eat("((") {
            self.deeper(Self::arithmetic)?;
        } else {
            self.word()?;
            self.gaps()?;
            let (word, behind) = self.plain_word();
            if word == "in" {
                self.at = behind;
                self.words_to_separator()?;
            }
        }
        self.gaps()?;
        if self.eat(";") {
            self.gaps()?;
        }
        let (word, behind) = self.plain_word();
        self.at = behind;
        match word.as_str() {
            "do" => self.list(&["done"]).map(drop),
            "{" => self.list(&["}"]).map(drop),
            _ => Err(Stop::new("`do` is missing")),
        }
    }

    fn words_to_separator(&mut self) -> Read<()> {
        loop {
            self.blanks();
            if matches!(self.peek(), None | Some(';' | '\n')) {
                return Ok(());
            }
            self.word()?;
        }
    }

    /// Reads a `case` behind that word. Its patterns are no commands.
    fn cases(&mut self) -> Read<()> {
        self.blanks();
        self.word()?;
        self.gaps()?;
        let (word, behind) = self.plain_word();
        if word != "in" {
            return Err(Stop::new("`in` is missing"));
        }
        self.at = behind;
        loop {
            self.gaps()?;
            let (word, behind) = self.plain_word();
            if word == "esac" {
                self.at = behind;
                return Ok(());
            }
            self.eat("(");
            self.patterns()?;
            if self.list(&[";;", "esac"])? == "esac" {
                return Ok(());
            }
        }
    }

    fn patterns(&mut self) -> Read<()> {
        loop {
            self.blanks();
            self.word()?;
            self.blanks();
            match self.take() {
                Some('|') => {}
                Some(')') => return Ok(()),
                _ => return Err(Stop::new("`)` is missing")),
            }
        }
    }

    /// Reads a `[[` behind that word. Only what is expanded in it is run.
    fn condition(&mut self) -> Read<()> {
        loop {
            self.gaps()?;
            let (word, behind) = self.plain_word();
            if word == "]]" {
                self.at = behind;
                return Ok(());
            }
            match self.peek() {
                None | Some(';') => return Err(open("`[[`")),
                Some('<' | '>') if self.is_at("<(") || self.is_at(">(") => drop(self.word()?),
                Some('(' | ')' | '&' | '|' | '<' | '>') => self.at += 1,
                Some(_) => drop(self.word()?),
            }
        }
    }
}
