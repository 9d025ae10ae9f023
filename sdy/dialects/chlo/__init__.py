"""The CHLO dialect: ops that frameworks write, and that StableHLO spells out."""
