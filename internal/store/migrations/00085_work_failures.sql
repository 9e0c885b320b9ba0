-- +goose Up

-- Tries of leased work that failed for no passing reason, since it last slept:
-- what fails time after time is taken out of the workers' hands.
ALTER TABLE work ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
