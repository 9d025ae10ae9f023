"""The custom assembly syntax that StableHLO op families share."""
