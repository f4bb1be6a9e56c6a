//! What can be asked of the demo, and the corpora it works on.

use std::path::{Path, PathBuf};

use clap::Parser;
use rag_backend::{Document, passages, read_corpus};
use serde::Deserialize;
use tenancy_stack::core::TenantId;

use crate::Failure;

/// Two customers on one service, and each of them attacks the other.
#[derive(Parser)]
#[command(name = "cargo xtask demo --")]
pub(crate) struct Args {
    /// A tenant and a folder of .md or .txt files, twice; by default the two handbooks that come with the demo
    #[arg(long = "corpus", value_name = "TENANT=FOLDER")]
    pub(crate) corpora: Vec<String>,

    /// Leave the service running afterwards and print what to type
    #[arg(long)]
    pub(crate) serve: bool,

    /// Print the report as JSON, and no progress
    #[arg(long)]
    pub(crate) json: bool,
}

/// One tenant's documents and the questions to ask about them.
pub(crate) struct Corpus {
    pub(crate) tenant: String,
    pub(crate) documents: Vec<Document>,
    pub(crate) questions: Vec<Question>,
}

/// A question and where its answer stands.
pub(crate) struct Question {
    pub(crate) text: String,
    pub(crate) document: String,
    pub(crate) passage: String,
}

#[derive(Deserialize)]
struct Labels {
    question: Vec<Label>,
}

#[derive(Deserialize)]
struct Label {
    text: String,
    document: String,
    passage: String,
}

impl Corpus {
    /// The corpora that were asked for.
    pub(crate) fn of(args: &Args) -> Result<Vec<Self>, Failure> {
        let named = match args.corpora.as_slice() {
            [] => {
                let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora");
                ["acme", "globex"].map(|name| (name.to_owned(), shipped.join(name))).to_vec()
            }
            given => given.iter().map(|text| pair(text)).collect::<Result<Vec<_>, _>>()?,
        };
        if named.len() != 2 {
            return Err(format!("--corpus is given twice or not at all, not {} times", named.len()).into());
        }
        if named[0].0 == named[1].0 {
            return Err("the two tenants need two names".into());
        }
        named.into_iter().map(|(tenant, folder)| Self::read(tenant, &folder)).collect()
    }

    fn read(tenant: String, folder: &Path) -> Result<Self, Failure> {
        let mut documents: Vec<Document> = read_corpus(folder)?;
        documents.retain(|document| !passages(&document.text).is_empty());
        if documents.is_empty() {
            return Err(format!("{}: no .md or .txt file with text in it", folder.display()).into());
        }
        let labels = folder.join("questions.toml");
        let questions = if labels.is_file() {
            let labels: Labels = toml::from_str(&std::fs::read_to_string(&labels)?)?;
            let question = |l: Label| Question { text: l.text, document: l.document, passage: l.passage };
            labels.question.into_iter().map(question).collect()
        } else {
            made_questions(&documents)
        };
        Ok(Self { tenant, documents, questions })
    }
}

/// For a folder nobody labelled: the first sentence of passages spread over its documents, asked word for word.
fn made_questions(documents: &[Document]) -> Vec<Question> {
    let sentence = |passage: &str| -> String {
        passage.split_inclusive(['.', '?', '!']).next().unwrap_or_default().chars().take(300).collect()
    };
    let all: Vec<Question> = documents
        .iter()
        .flat_map(|document| passages(&document.text).into_iter().map(move |passage| (document, passage)))
        .map(|(document, passage)| Question {
            text: sentence(passage),
            document: document.id.clone(),
            passage: passage.to_owned(),
        })
        .filter(|question| question.text.split_whitespace().count() >= 4)
        .collect();
    let step = all.len().div_ceil(MADE).max(1);
    all.into_iter().step_by(step).collect()
}

fn pair(text: &str) -> Result<(String, PathBuf), Failure> {
    let (tenant, folder) = text.split_once('=').ok_or_else(|| format!("--corpus {text}: expected TENANT=FOLDER"))?;
    TenantId::parse(tenant).map_err(|e| {
        format!("--corpus {text}: {e}; a tenant's name is made of A-Z a-z 0-9 _ - and begins with a letter or digit")
    })?;
    Ok((tenant.to_owned(), PathBuf::from(folder)))
}

const MADE: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(corpora: &[&str]) -> String {
        let corpora = corpora.iter().map(|text| (*text).to_owned()).collect();
        Corpus::of(&Args { corpora, serve: false, json: false }).err().expect("a refusal").to_string()
    }

    #[test]
    fn the_form_is_looked_at_before_the_number_and_the_name_before_the_folder() {
        assert!(refused(&["folder"]).contains("expected TENANT=FOLDER"));
        assert!(refused(&["a=b"]).contains("not 1 times"));
        assert!(refused(&["Al pha=/nowhere", "b=/nowhere"]).contains("A-Z a-z 0-9 _ -"));
        assert!(refused(&["=/nowhere", "b=/nowhere"]).contains("A-Z a-z 0-9 _ -"));
        assert!(refused(&["a=/nowhere", "b=/nowhere"]).starts_with("/nowhere: "));
    }
}
