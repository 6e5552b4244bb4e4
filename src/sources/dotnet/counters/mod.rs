//! EventCounters and meters of a process (docs/protocols/dotnet.md 7).
