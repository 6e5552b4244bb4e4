mod captures;
mod collections;
mod meter;
