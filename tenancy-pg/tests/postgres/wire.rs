//! A connection that hides nothing: every byte that the server sends is kept, notices and log lines included.
//!
//! A driver shows an attacker less than the server tells; an attack is judged by what the server tells.

use tenancy_testkit::{APP, TestDatabase};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

/// The service's role on a connection of its own, in the simple protocol.
pub(crate) struct Wire {
    stream: UnixStream,
    pub(crate) pid: i32,
}

/// What came back for one query.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    pub(crate) rows: Vec<Vec<Option<String>>>,
    /// The SQLSTATE of the error that ended it.
    pub(crate) error: Option<String>,
    /// The error's message.
    pub(crate) message: String,
    /// All of it, as a text.
    pub(crate) everything: String,
    /// The server has ended the session.
    pub(crate) is_over: bool,
}

impl Reply {
    /// The first column of all rows.
    pub(crate) fn column(&self) -> Vec<&str> {
        self.rows.iter().map(|row| row[0].as_deref().unwrap_or("NULL")).collect()
    }
}

impl Wire {
    pub(crate) async fn connect(database: &TestDatabase) -> Self {
        let path = database.socket().unwrap();
        let mut wire = Self { stream: UnixStream::connect(path).await.unwrap(), pid: 0 };
        let mut startup = 196_608_i32.to_be_bytes().to_vec();
        for text in ["user", APP, "database", database.name(), "client_encoding", "UTF8", ""] {
            startup.extend(text.as_bytes());
            startup.push(0);
        }
        wire.send(None, &startup).await;
        let reply = wire.reply().await;
        assert_eq!(reply.error, None, "{}", reply.message);
        wire
    }

    /// Sends one message of any number of statements.
    pub(crate) async fn query(&mut self, sql: &str) -> Reply {
        self.send(Some(b'Q'), &[sql.as_bytes(), b"\0"].concat()).await;
        self.reply().await
    }

    /// Sends what has to succeed.
    pub(crate) async fn run(&mut self, sql: &str) -> Reply {
        let reply = self.query(sql).await;
        assert_eq!(reply.error, None, "{sql}: {}", reply.message);
        reply
    }

    async fn send(&mut self, kind: Option<u8>, body: &[u8]) {
        let length = i32::try_from(body.len() + 4).unwrap();
        let mut message = Vec::from_iter(kind);
        message.extend(length.to_be_bytes());
        message.extend(body);
        // A session that the server has ended shows at the next reading.
        let _sent = self.stream.write_all(&message).await;
    }

    async fn reply(&mut self) -> Reply {
        let mut reply = Reply::default();
        loop {
            let Ok(kind) = self.stream.read_u8().await else {
                reply.is_over = true;
                reply.error.get_or_insert_with(|| "08006".to_owned());
                return reply;
            };
            let length = usize::try_from(self.stream.read_i32().await.unwrap()).unwrap();
            let mut body = vec![0; length - 4];
            self.stream.read_exact(&mut body).await.unwrap();
            reply.everything += &String::from_utf8_lossy(&body);
            reply.everything.push('\n');
            match kind {
                b'Z' => return reply,
                b'K' => self.pid = i32::from_be_bytes(body[..4].try_into().unwrap()),
                b'D' => reply.rows.push(row(&body)),
                b'E' => {
                    reply.error = field(&body, b'C');
                    reply.message = field(&body, b'M').unwrap_or_default();
                }
                // COPY .. FROM STDIN: there is nothing to copy.
                b'G' => self.send(Some(b'f'), b"nothing\0").await,
                _other => {}
            }
        }
    }
}

fn row(body: &[u8]) -> Vec<Option<String>> {
    let mut rest = &body[2..];
    let mut values = Vec::new();
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = usize::try_from(i32::from_be_bytes(*length)).ok();
        let value = length.map(|length| &after[..length]);
        values.push(value.map(|bytes| String::from_utf8_lossy(bytes).into_owned()));
        rest = &after[length.unwrap_or(0)..];
    }
    values
}

fn field(body: &[u8], kind: u8) -> Option<String> {
    let field = body.split(|byte| *byte == 0).find(|field| field.first() == Some(&kind))?;
    Some(String::from_utf8_lossy(&field[1..]).into_owned())
}
