//! A server that answers every request with the same bytes.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What comes after the bytes.
#[derive(Clone, Copy)]
pub(crate) enum Then {
    Close,
    Silence,
}

pub(crate) struct Raw {
    port: u16,
    task: JoinHandle<()>,
}

impl Raw {
    pub(crate) async fn answering(bytes: Vec<u8>, then: Then) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, bytes.clone(), then));
            }
        });
        Self { port, task }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(mut stream: TcpStream, bytes: Vec<u8>, then: Then) {
    let mut asked = Vec::new();
    while !is_whole(&asked) {
        let mut part = [0; 4096];
        match stream.read(&mut part).await {
            Ok(read) if read > 0 => asked.extend_from_slice(&part[..read]),
            _gone => return,
        }
    }
    // Whoever stops reading an endless answer closes.
    let _unread = stream.write_all(&bytes).await;
    match then {
        Then::Close => drop(stream.shutdown().await),
        Then::Silence => tokio::time::sleep(Duration::from_secs(60)).await,
    }
}

fn is_whole(asked: &[u8]) -> bool {
    let text = String::from_utf8_lossy(asked);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    body.len() >= length.unwrap_or(0)
}

/// An answer with this status and body.
pub(crate) fn http(status: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n{headers}connection: close\r\n\r\n{body}").into_bytes()
}
