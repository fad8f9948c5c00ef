//! A provider of models on this machine, which answers in exactly the bytes that it is given.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use serde_json::Value;

/// What the provider does on one connection, once it has read the request.
#[derive(Debug, Clone)]
pub enum Act {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Says that it has nothing more to say, and waits until the client has closed.
    Finish,
    /// Waits until the client has closed.
    Wait,
    /// Breaks the connection off.
    Break,
}

/// A request as it arrived.
#[derive(Debug)]
pub struct Received {
    /// The line and the headers, their names in small letters.
    pub head: Vec<String>,
    /// What was asked.
    pub body: Value,
}

/// What the provider sees, in order.
#[derive(Debug)]
pub enum Seen {
    /// A request.
    Request(Received),
    /// The client closed the connection.
    Closed,
}

/// A provider that answers one connection after the other.
#[derive(Debug)]
pub struct Provider {
    address: SocketAddr,
    seen: Receiver<Seen>,
}

impl Provider {
    /// A provider that plays one scene a connection, and then takes none any more.
    ///
    /// # Panics
    /// When there is no free port.
    pub fn start(scenes: Vec<Vec<Act>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let (see, seen) = channel();
        thread::spawn(move || {
            for scene in scenes {
                let (stream, _) = listener.accept().expect("connections are taken");
                // A client that goes away in the middle is what some scenes are about.
                let _ = play(&stream, scene, &see);
            }
        });
        Self { address, seen }
    }

    /// Where it is.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Its host and port.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// Waits for what it sees next.
    ///
    /// # Panics
    /// When it has played all its scenes and seen nothing more.
    pub fn seen(&self) -> Seen {
        self.seen.recv().expect("something is seen")
    }

    /// Waits for the next request.
    ///
    /// # Panics
    /// When there is none.
    pub fn request(&self) -> Received {
        loop {
            if let Seen::Request(request) = self.seen() {
                return request;
            }
        }
    }
}

fn play(stream: &TcpStream, scene: Vec<Act>, see: &Sender<Seen>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    let request = receive(&mut reader)?;
    let _ = see.send(Seen::Request(request));
    for act in scene {
        match act {
            Act::Send(bytes) => {
                let mut writer = stream;
                writer.write_all(&bytes)?;
            }
            Act::Finish => {
                stream.shutdown(Shutdown::Write)?;
                until_closed(&mut reader, see);
            }
            Act::Wait => until_closed(&mut reader, see),
            Act::Break => return Ok(()),
        }
    }
    Ok(())
}

fn until_closed(reader: &mut impl Read, see: &Sender<Seen>) {
    let mut rest = Vec::new();
    // A reset is a close like any other.
    let _ = reader.read_to_end(&mut rest);
    let _ = see.send(Seen::Closed);
}

fn receive(reader: &mut impl BufRead) -> io::Result<Received> {
    let mut head = Vec::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let line = match line.split_once(": ") {
            Some((name, value)) => format!("{}: {value}", name.to_ascii_lowercase()),
            None => line.to_owned(),
        };
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.parse().map_err(io::Error::other)?;
        }
        head.push(line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Received { head, body: serde_json::from_slice(&body)? })
}

/// The head of a streamed answer whose body comes in chunks.
pub fn head() -> Act {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                transfer-encoding: chunked\r\n\r\n";
    Act::Send(head.into())
}

/// One chunk of the body.
pub fn chunk(bytes: impl AsRef<[u8]>) -> Act {
    let bytes = bytes.as_ref();
    let size = format!("{:x}\r\n", bytes.len());
    Act::Send([size.as_bytes(), bytes, b"\r\n"].concat())
}

/// The end of a body that came in chunks, and of the connection.
pub fn end() -> [Act; 2] {
    [Act::Send(b"0\r\n\r\n".into()), Act::Finish]
}

/// One event with this data.
pub fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// A whole answer of these pieces, and the mark of its end.
pub fn answer(pieces: &[Value]) -> Vec<Act> {
    let pieces = pieces.iter().map(|it| chunk(event(it)));
    let marked = [chunk("data: [DONE]\n\n")];
    [head()].into_iter().chain(pieces).chain(marked).chain(end()).collect()
}

/// An answer that is no stream.
pub fn refusal(status: &str, headers: &str, body: &str) -> Vec<Act> {
    let length = body.len();
    let whole = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n{headers}\r\n{body}");
    vec![Act::Send(whole.into()), Act::Finish]
}
