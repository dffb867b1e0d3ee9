CREATE TABLE hospital.patient (
  pid integer PRIMARY KEY,
  name text NOT NULL
);
CREATE TABLE hospital.diagnosis (
  pid integer NOT NULL,
  diagnosis text NOT NULL,
  ward integer NOT NULL,
  PRIMARY KEY (pid, diagnosis, ward)
);
