mod captures;
mod collections;
mod meter;
mod seen;
