use super::*;

fn canonical(text: &str) -> String {
    canonical_json(text).unwrap_or_else(|e| panic!("{text}: {e}")).as_str().to_owned()
}

#[test]
fn equal_values_have_one_text() {
    for (mechanism, text, wanted) in [
        ("space", " { \"a\" :\t[ 1 ,\r\n2 ] } ", r#"{"a":[1,2]}"#),
        ("order of names", r#"{"b":1,"a":2}"#, r#"{"a":2,"b":1}"#),
        ("order of names inside", r#"[{"b":{"d":1,"c":2}}]"#, r#"[{"b":{"c":2,"d":1}}]"#),
        ("empty name first", r#"{"a":1,"":2}"#, r#"{"":2,"a":1}"#),
        // U+1F600 begins with the unit D83D, which sorts before FB33 although its code point is greater.
        ("UTF-16 order", "{\"\u{fb33}\":1,\"\u{1f600}\":2}", "{\"\u{1f600}\":2,\"\u{fb33}\":1}"),
        ("escapes that need not be", r#""\u0041\/\u20ac""#, "\"A/\u{20ac}\""),
        ("a pair of surrogates", r#""\ud83d\ude00""#, "\"\u{1f600}\""),
        (
            "escapes that must be",
            "\"\\u0008\\u0009\\u000a\\u000c\\u000d\\u000F\\u007f\"",
            "\"\\b\\t\\n\\f\\r\\u000f\u{7f}\"",
        ),
        ("quotes", r#""\"\\""#, r#""\"\\""#),
        ("words", "[true,false,null]", "[true,false,null]"),
        ("empties", "[{},[],\"\"]", "[{},[],\"\"]"),
    ] {
        assert_eq!(canonical(text), wanted, "{mechanism}");
        assert_eq!(canonical(wanted), wanted, "{mechanism}: canonical text stays");
    }
}

#[test]
fn numbers_are_written_as_ecmascript_writes_them() {
    for (text, wanted) in [
        ("0", "0"),
        ("-0", "0"),
        ("0.0e9", "0"),
        ("1", "1"),
        ("1.0", "1"),
        ("1.00", "1"),
        ("10e-1", "1"),
        ("-2.50", "-2.5"),
        ("0.1", "0.1"),
        ("123.456", "123.456"),
        ("1e21", "1e+21"),
        ("1e20", "100000000000000000000"),
        ("123e19", "1.23e+21"),
        ("0.000001", "0.000001"),
        ("0.0000001", "1e-7"),
        ("1.5E-9", "1.5e-9"),
        ("9007199254740992", "9007199254740992"),
        ("5e-324", "5e-324"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"),
    ] {
        assert_eq!(canonical(text), wanted, "{text}");
    }
}

#[test]
fn what_two_readers_could_read_differently_is_refused() {
    for (mechanism, text, why) in [
        ("a name twice", r#"{"a":1,"a":2}"#, JsonError::DuplicateName),
        ("a name twice, once escaped", r#"{"a":1,"b":0,"\u0061":2}"#, JsonError::DuplicateName),
        ("twice, deep inside", r#"[{"x":{"a":1,"a":1}}]"#, JsonError::DuplicateName),
        ("the first half alone", r#""\ud83d""#, JsonError::LoneSurrogate),
        ("the first half and text", r#""\ud83dx""#, JsonError::LoneSurrogate),
        ("the first half twice", r#""\ud83d\ud83d""#, JsonError::LoneSurrogate),
        ("the first half and another escape", r#""\ud83d\n""#, JsonError::LoneSurrogate),
        ("the second half alone", r#""\ude00""#, JsonError::LoneSurrogate),
        ("an id beyond 2^53", "9007199254740993", JsonError::InexactNumber),
        ("too many digits", "0.1000000000000000055", JsonError::InexactNumber),
        ("too large", "1e309", JsonError::InexactNumber),
        ("too small", "1e-400", JsonError::InexactNumber),
        ("an exponent out of all bounds", "1e99999999999", JsonError::InexactNumber),
        ("not a number", "NaN", JsonError::Syntax),
        ("infinite", "-Infinity", JsonError::Syntax),
        ("a leading zero", "01", JsonError::Syntax),
        ("a bare dot", "1.", JsonError::Syntax),
        ("a plus", "+1", JsonError::Syntax),
        ("hex", "0x10", JsonError::Syntax),
        ("a comma too many", "[1,]", JsonError::Syntax),
        ("a comment", "1 // one", JsonError::Syntax),
        ("two values", "1 2", JsonError::Syntax),
        ("nothing", "", JsonError::Syntax),
        ("single quotes", "'a'", JsonError::Syntax),
        ("a raw control character", "\"\u{1}\"", JsonError::Syntax),
        ("an open text", "\"a", JsonError::Syntax),
        ("an open escape", "\"\\u00", JsonError::Syntax),
        ("a byte order mark", "\u{feff}1", JsonError::Syntax),
        ("a word that goes on", "nullx", JsonError::Syntax),
    ] {
        assert_eq!(canonical_json(text), Err(why), "{mechanism}");
    }
    assert_eq!(canonical_json(&"[".repeat(100_000)), Err(JsonError::TooDeep), "no stack is spent on depth");
}

#[test]
fn nothing_of_a_text_is_shown() {
    let shown = format!("{:?} {:?}", canonical_json(r#"{"iban":"DE02"}"#), canonical_json(r#"{"iban"}"#));
    assert!(!shown.contains("iban") && !shown.contains("DE02"), "{shown}");
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    /// A value, written in two ways that mean the same, and as `serde_json` reads it.
    fn written() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(serde_json::Value::from),
            (-1_000_000i64..1_000_000).prop_map(serde_json::Value::from),
            (-1_000_000i32..1_000_000, 0i32..6)
                .prop_map(|(n, p)| { serde_json::Value::from(format!("{n}e-{p}").parse::<f64>().unwrap()) }),
            "\\PC{0,4}".prop_map(serde_json::Value::from),
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
                proptest::collection::hash_map("[a-c\u{1f600}\u{fb33}]{0,2}", inner, 0..4)
                    .prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_form_does_not_change_and_means_the_same(value in written()) {
            let pretty = serde_json::to_string_pretty(&value).unwrap();
            let text = canonical(&pretty);
            prop_assert_eq!(&canonical(&value.to_string()), &text);
            prop_assert_eq!(&canonical(&text), &text);
            let read: serde_json::Value = serde_json::from_str(&text).unwrap();
            prop_assert!(alike(&read, &value), "{} is not {}", read, value);
        }

        #[test]
        fn no_text_makes_it_panic(text in "[\\[\\]{}\",:0-9eE+.\\\\u\\-a-f ]{0,24}") {
            let _ = canonical_json(&text);
        }
    }

    /// Equal, numbers by value: `1.0` and `1` are one.
    fn alike(a: &serde_json::Value, b: &serde_json::Value) -> bool {
        use serde_json::Value::{Array, Number, Object};
        match (a, b) {
            (Number(a), Number(b)) => a.as_f64() == b.as_f64(),
            (Array(a), Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b)),
            (Object(a), Object(b)) => {
                a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| alike(a, b)))
            }
            (a, b) => a == b,
        }
    }
}
