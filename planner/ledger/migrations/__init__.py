"""How the ledger came to its present shape: one file per step, in `versions`, each named by what it brought."""
