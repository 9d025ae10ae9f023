"""The custom assembly syntax that families of StableHLO ops share."""
