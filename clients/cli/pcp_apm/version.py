"""The version of pmdaapm that this client came with: that of Cargo.toml."""

VERSION = "0.1.0"
