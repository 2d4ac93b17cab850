"""Service: private answers over HTTP, for analysts who never see the table; `sfumato query serve policy.toml`."""
