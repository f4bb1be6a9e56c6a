//! The fault proxy does what it is told, to any byte stream.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use tenancy_testkit::FaultProxy;
use tenancy_testkit::proxy::{After, Direction, Fault, Protocol, Traffic, Upstream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use Direction::{ToClient, ToServer};

/// A server that sends back whatever it gets, until the end, and a proxy in front.
async fn echo() -> FaultProxy {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut from, mut to) = stream.split();
                let _io = tokio::io::copy(&mut from, &mut to).await;
                let _io = to.shutdown().await;
            });
        }
    });
    FaultProxy::start(Upstream::Tcp(address), Protocol::Bytes).await.unwrap()
}

async fn client(proxy: &FaultProxy) -> TcpStream {
    TcpStream::connect(("127.0.0.1", proxy.port())).await.unwrap()
}

/// Says it and hears it back.
async fn call(client: &mut TcpStream, text: &str) -> String {
    client.write_all(text.as_bytes()).await.unwrap();
    hear(client, text.len()).await
}

async fn hear(client: &mut TcpStream, length: usize) -> String {
    let mut heard = vec![0; length];
    client.read_exact(&mut heard).await.unwrap();
    String::from_utf8(heard).unwrap()
}

/// What is left until the end of the stream.
async fn rest(client: &mut TcpStream) -> std::io::Result<String> {
    let mut heard = String::new();
    client.read_to_string(&mut heard).await?;
    Ok(heard)
}

/// Lets so much time go by that whatever is not held back has gone on: a stall that stalls nothing holds bytes for a
/// moment too. Counted in calls through another proxy, which the stall does not concern.
async fn others_go_on() {
    let proxy = echo().await;
    let mut other = client(&proxy).await;
    for _ in 0..20 {
        assert_eq!(call(&mut other, "x").await, "x");
    }
}

fn held(direction: Direction, bytes: u64) -> impl Fn(&Traffic) -> bool {
    move |traffic| traffic.flow(direction).held == bytes
}

#[tokio::test]
async fn bytes_turns_and_connections_are_counted() {
    let proxy = echo().await;
    let (mut one, mut two) = (client(&proxy).await, client(&proxy).await);
    for _ in 0..3 {
        assert_eq!(call(&mut one, "abc").await, "abc");
    }
    let before = proxy.traffic();
    assert_eq!((before.connections, before.round_trips, before.to_server.bytes, before.to_client.bytes), (2, 3, 9, 9));
    assert_eq!(call(&mut two, "hello").await, "hello");
    let then = proxy.traffic().since(&before);
    assert_eq!((then.connections, then.round_trips, then.to_server.bytes, then.to_client.bytes), (0, 1, 5, 5));
    assert_eq!(proxy.connections()[1].traffic().round_trips, 1);
    assert_eq!(proxy.traffic().to_server.messages(), 0);
}

#[tokio::test]
async fn a_stalled_answer_is_held_until_it_may_go_on() {
    let proxy = echo().await;
    let mut one = client(&proxy).await;
    assert_eq!(call(&mut one, "a").await, "a");
    proxy.stall(ToClient);
    one.write_all(b"bcd").await.unwrap();
    proxy.wait_until(held(ToClient, 3)).await;
    assert_eq!(proxy.traffic().to_client.bytes, 1);
    proxy.resume();
    assert_eq!(hear(&mut one, 3).await, "bcd");
    proxy.wait_until(held(ToClient, 0)).await;
}

#[tokio::test]
async fn a_stalled_question_never_reaches_the_server_and_an_end_waits_behind_it() {
    let proxy = echo().await;
    let mut one = client(&proxy).await;
    assert_eq!(call(&mut one, "a").await, "a");
    proxy.stall(ToServer);
    one.write_all(b"bc").await.unwrap();
    one.shutdown().await.unwrap();
    proxy.wait_until(held(ToServer, 2)).await;
    others_go_on().await;
    assert!(held(ToServer, 2)(&proxy.traffic()));
    assert_eq!(proxy.traffic().to_server.bytes, 1);
    proxy.resume();
    assert_eq!(rest(&mut one).await.unwrap(), "bc");
}

#[tokio::test]
async fn connections_overtake_each_other() {
    let proxy = echo().await;
    let (mut one, mut two) = (client(&proxy).await, client(&proxy).await);
    assert_eq!(call(&mut one, "a").await + &call(&mut two, "b").await, "ab");
    let first = &proxy.connections()[0];
    first.stall(ToServer);
    one.write_all(b"first").await.unwrap();
    proxy.wait_until(held(ToServer, 5)).await;
    assert_eq!(call(&mut two, "second").await, "second");
    assert_eq!(first.traffic().to_server.bytes, 1);
    first.resume();
    assert_eq!(hear(&mut one, 5).await, "first");
}

#[tokio::test]
async fn a_cut_is_exact_to_the_byte() {
    for (bytes, arrives) in [(0, ""), (1, "a"), (4, "abcd"), (6, "abcdef")] {
        let proxy = echo().await;
        proxy.plan(ToClient, After::Bytes(bytes), Fault::Close);
        let mut one = client(&proxy).await;
        let _may_be_closed_already = one.write_all(b"abcdef").await;
        let heard = rest(&mut one).await.unwrap_or_default();
        assert_eq!(heard, arrives, "after {bytes}");
        assert_eq!(proxy.traffic().to_client.bytes, bytes);
    }
}

#[tokio::test]
async fn a_plan_counts_from_now_and_holds_for_connections_to_come() {
    let proxy = echo().await;
    let mut old = client(&proxy).await;
    assert_eq!(call(&mut old, "abc").await, "abc");
    proxy.plan(ToServer, After::Bytes(2), Fault::Stall);
    let mut new = client(&proxy).await;
    for stream in [&mut old, &mut new] {
        stream.write_all(b"xyz").await.unwrap();
        assert_eq!(hear(stream, 2).await, "xy");
    }
    proxy.wait_until(held(ToServer, 2)).await;
    others_go_on().await;
    assert!(held(ToServer, 2)(&proxy.traffic()));
    proxy.resume();
    for stream in [&mut old, &mut new] {
        assert_eq!(hear(stream, 1).await, "z");
    }
}

#[tokio::test]
async fn an_end_and_a_broken_connection_look_different_to_the_client() {
    let proxy = echo().await;
    let (mut closed, mut broken) = (client(&proxy).await, client(&proxy).await);
    assert_eq!(call(&mut closed, "a").await + &call(&mut broken, "b").await, "ab");
    proxy.connections()[0].close();
    assert_eq!(rest(&mut closed).await.unwrap(), "");
    proxy.reset();
    assert_eq!(rest(&mut broken).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    // Others can still come.
    assert_eq!(call(&mut client(&proxy).await, "c").await, "c");
}

#[tokio::test]
async fn half_a_connection_goes_on() {
    let proxy = echo().await;
    let mut one = client(&proxy).await;
    assert_eq!(call(&mut one, "a").await, "a");
    proxy.half_close(ToClient);
    assert_eq!(rest(&mut one).await.unwrap(), "");
    one.write_all(b"still heard").await.unwrap();
    proxy.wait_until(|traffic| traffic.to_server.bytes == 12).await;

    // The server reads an end and ends its own side; the client, which has ended nothing, reads that.
    let mut two = client(&proxy).await;
    assert_eq!(call(&mut two, "b").await, "b");
    proxy.connections()[1].half_close(ToServer);
    assert_eq!(rest(&mut two).await.unwrap(), "");
}

#[tokio::test]
async fn nobody_comes_in_while_it_refuses() {
    let proxy = echo().await;
    proxy.refuse(true);
    let mut refused = client(&proxy).await;
    assert!(matches!(rest(&mut refused).await.as_deref(), Ok("") | Err(_)));
    proxy.refuse(false);
    assert_eq!(call(&mut client(&proxy).await, "a").await, "a");
    assert_eq!(proxy.traffic().connections, 1);
}

#[tokio::test]
async fn latency_is_at_least_what_was_asked_for_each_way() {
    let proxy = echo().await;
    let mut one = client(&proxy).await;
    assert_eq!(call(&mut one, "a").await, "a");
    proxy.delay(ToServer, Duration::from_millis(30));
    proxy.delay(ToClient, Duration::from_millis(20));
    let start = Instant::now();
    assert_eq!(call(&mut one, "b").await, "b");
    assert!(start.elapsed() >= Duration::from_millis(50));
}

#[tokio::test]
async fn its_connections_end_with_it() {
    let proxy = echo().await;
    let mut one = client(&proxy).await;
    assert_eq!(call(&mut one, "a").await, "a");
    let port = proxy.port();
    drop(proxy);
    assert_eq!(rest(&mut one).await.unwrap_or_default(), "");
    // The port is free as soon as the task has seen its end.
    while TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
        tokio::task::yield_now().await;
    }
}
